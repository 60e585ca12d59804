import { useState, useSyncExternalStore } from "react";
import type { GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { admit, sessionStore, signInPrompts, signOut } from "../session/session.ts";
import type { Admission } from "../session/session.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { Dialog, DialogActions } from "../widgets/Dialog.tsx";
import { FormBody, Input } from "../widgets/form/Field.tsx";
import { FailureNotice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";

/** Sign-in over the open page, after the session ended: the call that found out is repeated, and nothing is lost. */
export function SignInAgain() {
  const prompt = useSyncExternalStore(signInPrompts.subscribe, signInPrompts.get);
  const leave = (): void => {
    prompt?.answer(undefined);
    void signOut().catch(() => undefined);
  };
  return (
    <Dialog
      title="Sign in again"
      about="Your session has ended. What you typed is still here."
      open={prompt !== undefined}
      onClose={leave}
    >
      {prompt !== undefined && <Form me={prompt.about} onDone={prompt.answer} onLeave={leave} />}
    </Dialog>
  );
}

function Form({
  me,
  onDone,
  onLeave,
}: {
  me: GetMeResponse;
  onDone: (done: true | undefined) => void;
  onLeave: () => void;
}) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [mfaToken, setMfaToken] = useState<string>();
  const login = useCall(LoginService.method.login, { transport: publicTransport });
  const challenge = useCall(MfaService.method.challengeTotp, { transport: publicTransport });

  async function enter(admission: Admission): Promise<void> {
    await admit(admission);
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
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
          autoFocus
        />
      ) : (
        <Input
          label="Authenticator code"
          autoComplete="one-time-code"
          value={code}
          onChange={setCode}
          autoFocus
          hint="Or one of your recovery codes."
        />
      )}
      {failure !== undefined && <FailureNotice failure={failure} />}
      <DialogActions>
        <Button onClick={onLeave}>Sign out</Button>
        <Button look="primary" type="submit" busy={login.busy || challenge.busy}>
          Sign in
        </Button>
      </DialogActions>
    </FormBody>
  );
}
