import { useEffect, useState, useSyncExternalStore } from "react";
import type { GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { failureOf } from "../session/failures.ts";
import { admit, sessionStore, signInPrompts } from "../session/session.ts";
import type { Admission } from "../session/session.ts";
import { publicTransport } from "../session/transport.ts";
import { serviceUrl } from "../settings.ts";
import { Button } from "../widgets/Button.tsx";
import { Dialog, DialogActions } from "../widgets/Dialog.tsx";
import { FormBody, Input } from "../widgets/form/Field.tsx";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { alertToast } from "../widgets/toasts.ts";
import { useCall } from "../widgets/use-call.ts";
import { leave } from "./leave.ts";

/**
 * Sign-in over the open page, after the session ended: the call that found out is repeated, and nothing is lost. Escape
 * and a press beside it do nothing: they would sign out in every tab.
 */
export function SignInAgain() {
  const prompt = useSyncExternalStore(signInPrompts.subscribe, signInPrompts.get);
  useNoEscape(prompt !== undefined);
  return (
    <Dialog
      title="Sign in again"
      about="Your session has ended. What you typed is still here."
      open={prompt !== undefined}
      onClose={() => undefined}
    >
      {prompt !== undefined && <Form me={prompt.about} onDone={prompt.answer} />}
    </Dialog>
  );
}

/**
 * Keeps Escape from every dialog. While the focus is in none, as after a press beside them, the one below would hear it
 * too, and ask to discard its input.
 */
function useNoEscape(active: boolean): void {
  useEffect(() => {
    if (!active) return;
    const hold = (event: KeyboardEvent): void => {
      if (event.key === "Escape") event.stopPropagation();
    };
    addEventListener("keydown", hold, true);
    return () => removeEventListener("keydown", hold, true);
  }, [active]);
}

/** The sign-in page, for another tab: a sign-in there lets this tab go on. */
function signInPage({ email, orgName }: GetMeResponse): string {
  const query = new URLSearchParams();
  if (orgName !== undefined) query.set("org", orgName);
  if (email !== undefined) query.set("email", email);
  return `${serviceUrl}/sign-in?${query.toString()}`;
}

function Form({ me, onDone }: { me: GetMeResponse; onDone: (done: true | undefined) => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [mfaToken, setMfaToken] = useState<string>();
  const login = useCall(LoginService.method.login, { transport: publicTransport });
  const challenge = useCall(MfaService.method.challengeTotp, {
    transport: publicTransport,
    onFailure: (refused) => refused.code === "unauthorized" && setCode(""),
  });

  async function enter(admission: Admission): Promise<void> {
    try {
      await admit(admission);
    } catch (error) {
      return alertToast(failureOf(error));
    }
    const now = sessionStore.get();
    onDone(now.status === "in" && now.me.userUuid === me.userUuid ? true : undefined);
  }

  async function submit(): Promise<void> {
    if (mfaToken !== undefined) {
      const typed = code.replaceAll(/\s/gu, "");
      const pair = await challenge.run({ mfaToken, code: typed, recovery: !/^\d{6}$/u.test(typed) });
      if (pair !== undefined) await enter(pair);
      return;
    }
    const answer = await login.run({ email: me.email ?? "", password, orgName: me.orgName ?? "" });
    if (answer?.mfaToken !== undefined) setMfaToken(answer.mfaToken);
    else if (answer !== undefined) await enter(answer);
  }

  function startOver(): void {
    setMfaToken(undefined);
    setPassword("");
    setCode("");
    challenge.clear();
  }

  const failure = login.failure ?? challenge.failure;
  return (
    <FormBody
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Input label="Email" value={me.email ?? ""} onChange={() => undefined} readOnly autoComplete="username" />
      {mfaToken === undefined ? (
        <Input
          key="password"
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
          autoFocus
        />
      ) : (
        <Input
          key="code"
          label="Authenticator code"
          autoComplete="one-time-code"
          value={code}
          onChange={setCode}
          autoFocus
          hint="Or one of your recovery codes."
        />
      )}
      {failure !== undefined &&
        (failure === challenge.failure && failure.code === "unauthorized" ? (
          <Notice kind="bad" requestId={failure.requestId}>
            The code is wrong or was used before, or this sign-in has ended. After five wrong codes, start over.
          </Notice>
        ) : failure.code === "unauthorized" ? (
          <Notice kind="bad" requestId={failure.requestId}>
            {me.orgName === undefined
              ? "The password is wrong."
              : `The password is wrong, or you no longer belong to ${me.orgName}. To go on elsewhere, sign out.`}
          </Notice>
        ) : (
          <FailureNotice failure={failure} />
        ))}
      <p>
        For single sign-on, a mailed link or a mailed code,{" "}
        <a href={signInPage(me)} target="_blank" rel="noopener noreferrer">
          sign in in another tab
        </a>
        . This page then goes on.
      </p>
      <DialogActions>
        <Button onClick={() => leave()}>Sign out</Button>
        {mfaToken !== undefined && <Button onClick={startOver}>Start over</Button>}
        <Button look="primary" type="submit" busy={login.busy || challenge.busy}>
          Sign in
        </Button>
      </DialogActions>
    </FormBody>
  );
}
