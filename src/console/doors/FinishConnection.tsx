import { createClient } from "@connectrpc/connect";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { OidcService } from "../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { failureOf } from "../session/failures.ts";
import { transport } from "../session/session.ts";
import { publicTransport } from "../session/transport.ts";
import { localPath } from "../settings.ts";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { Skeleton } from "../widgets/States.tsx";
import { alertToast, toast } from "../widgets/toasts.ts";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import type { Returned } from "./oidc.ts";
import { keepForEntry } from "./sign-in-state.ts";
import { useEnter } from "./use-enter.ts";

const oidc = createClient(OidcService, transport);

/** The end of a single sign-on: the token of the redirect is exchanged, once. */
export function FinishConnection({ returned }: { returned: Returned }) {
  const { error, name, next, sessionToken = "", codeVerifier = "" } = returned;
  const exchange = useCall(OidcService.method.exchangeSession, { transport: publicTransport });
  const { enter } = useEnter();
  const begun = useRef(false);
  const { failure } = exchange;
  const mustLink = failure?.code === "link_required";

  // The refusal leaves the token good for the person who signs in another way.
  const linkAfterwards = (): void =>
    keepForEntry({
      async run() {
        try {
          await oidc.linkIdentity({ sessionToken, codeVerifier });
          toast(`${name} is linked to your account`);
        } catch (refused) {
          const failure = failureOf(refused);
          const message = `${name} is not linked: its sign-in has expired. Start again with it.`;
          alertToast(failure.code === "unauthorized" ? { ...failure, message } : failure);
        }
      },
      drop() {
        const message = `${name} is not linked: another sign-in came before. Start again with it.`;
        alertToast({ message, requestId: undefined });
      },
    });

  useEffect(() => {
    if (begun.current || error !== undefined) return;
    begun.current = true;
    void exchange.run({ sessionToken, codeVerifier }).then((answer) => enter(answer, localPath(next)));
  });
  return (
    <Door title="Sign in" about={`With ${name}`}>
      {error !== undefined && <Notice kind="bad">{error}</Notice>}
      {failure !== undefined && <FailureNotice failure={failure} />}
      {error === undefined && failure === undefined && <Skeleton lines={2} />}
      {(error !== undefined || failure !== undefined) && (
        <Link to="/sign-in" search={{ next }} {...(mustLink && { onClick: linkAfterwards })}>
          {mustLink ? `Sign in another way to link ${name}` : "Go to sign-in"}
        </Link>
      )}
    </Door>
  );
}
