import { useEffect, useState } from "react";
import type { Connection } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { signInTests, testStatePrefix } from "../../session/sign-in-test.ts";
import { serviceUrl } from "../../settings.ts";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { Notice } from "../../widgets/Notice.tsx";

/**
 * Goes to the provider and back in another tab, without signing anybody in: the verifier of the code challenge is
 * forgotten, so that the session token which comes back is of no use.
 */
export function SignInTest({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const [state] = useState(() => `${testStatePrefix}${crypto.randomUUID()}`);
  const [link, setLink] = useState<string>();
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    void challengeOfNobody().then((challenge) => {
      const query = new URLSearchParams({ redirect_uri: serviceUrl, state, code_challenge: challenge });
      setLink(`${serviceUrl}/api/auth/oidc/${connection.connectionUuid}/authorize?${query.toString()}`);
    });
    return signInTests.subscribe((passedState) => {
      if (passedState === state) setPassed(true);
    });
  }, [connection.connectionUuid, state]);
  const allowed = connection.redirectUris.length === 0 || connection.redirectUris.includes(serviceUrl);
  return (
    <Dialog
      title={`Test sign-in by ${connection.name}`}
      about="The provider opens in another tab, as for a member. Nobody is signed in or created by it."
      open
      onClose={onClose}
    >
      {!allowed && <Notice kind="warn">Add {serviceUrl} to the redirect URIs of the connection first.</Notice>}
      <div role="status">
        {passed && (
          <Notice kind="good">
            The provider confirmed a verified address of an allowed domain. Members can sign in.
          </Notice>
        )}
      </div>
      <p>If it fails, the other tab says why, and so does “Last failures” on this page.</p>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {allowed && (
          <Button
            look="primary"
            disabled={link === undefined}
            onClick={() => window.open(link, "_blank", "noopener,noreferrer")}
          >
            Open the provider
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

/** A code challenge (RFC 7636) whose verifier nobody keeps. */
async function challengeOfNobody(): Promise<string> {
  const verifier = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
