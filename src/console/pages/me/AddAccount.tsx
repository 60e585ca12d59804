import { useState } from "react";
import { LoginRequestSchema } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { failureOf } from "../../session/failures.ts";
import type { Failure } from "../../session/failures.ts";
import { answerFactor, signInBeside } from "../../session/sign-in-beside.ts";
import type { Beside } from "../../session/sign-in-beside.ts";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody, Input } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useCall } from "../../widgets/use-call.ts";

/** Signs in to a further account and adds it to this device; the present session goes on. */
export function AddAccount({ deviceUuid, onClose }: { deviceUuid: string; onClose: () => void }) {
  const form = useForm(LoginRequestSchema, { orgName: "", email: "", password: "" });
  const add = useCall(SessionsService.method.addDeviceAccount, { done: "Account added" });
  const [mfaToken, setMfaToken] = useState<string>();
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();

  async function finish(signIn: () => Promise<Beside>): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    try {
      const answer = await signIn();
      setMfaToken(answer.mfaToken);
      if (answer.accessToken === undefined) return;
      if ((await add.run({ deviceUuid, accessToken: answer.accessToken })) !== undefined) onClose();
    } catch (error) {
      const failed = failureOf(error);
      setFailure(failed);
      if (failed.code === "unauthorized") setCode("");
    } finally {
      setBusy(false);
    }
  }

  const call = { busy: busy || add.busy, failure: failure ?? add.failure };
  return (
    <Dialog title="Add account" open dirty={form.changed} onClose={onClose}>
      {mfaToken === undefined ? (
        <FormBody
          form={form}
          onSubmit={form.submit(({ orgName = "", email = "", password = "" }) =>
            finish(() => signInBeside(orgName, email, password)),
          )}
        >
          <Field form={form} name="orgName" label="Organization" autoComplete="organization" />
          <Field form={form} name="email" autoComplete="off" inputMode="email" spellCheck={false} />
          <Field form={form} name="password" type="password" autoComplete="off" />
          <SubmitActions call={call} verb="Add account" onCancel={onClose} />
        </FormBody>
      ) : (
        <FormBody
          onSubmit={(event) => {
            event.preventDefault();
            if (code !== "") void finish(() => answerFactor(mfaToken, code));
          }}
        >
          <Input
            label="Authenticator code"
            value={code}
            onChange={setCode}
            autoFocus
            autoComplete="one-time-code"
            inputMode="numeric"
            maxLength={9}
          />
          <SubmitActions call={call} verb="Confirm" onCancel={onClose} />
        </FormBody>
      )}
    </Dialog>
  );
}
