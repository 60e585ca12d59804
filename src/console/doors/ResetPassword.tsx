import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { LoginService, ResetPasswordRequestSchema } from "../../../gen/atrium/login/v1/login_pb.ts";
import { linkToken } from "../session/link-token.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { Field, FormBody } from "../widgets/form/Field.tsx";
import { useForm } from "../widgets/form/use-form.ts";
import { Done, FailureNotice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";
import { LinkIncomplete } from "./LinkIncomplete.tsx";

/** Sets a new password by a mailed link. */
export default function ResetPassword() {
  const token = linkToken()?.token;
  const form = useForm(ResetPasswordRequestSchema, { password: "" });
  const reset = useCall(LoginService.method.resetPassword, { transport: publicTransport });
  const [done, setDone] = useState(false);
  const title = "Set a new password";
  if (token === undefined) return <LinkIncomplete title={title} />;
  const { failure } = reset;
  return (
    <Door
      title={title}
      about={done ? undefined : "Every session of yours ends, on all devices. Sign in with the new one."}
    >
      {done ? (
        <>
          <Done>Your password is set, and every session has ended.</Done>
          <Link to="/sign-in">Go to sign-in</Link>
        </>
      ) : (
        <FormBody
          form={form}
          onSubmit={form.submit(async ({ password }) => {
            setDone((await reset.run({ token, password: password ?? "" })) !== undefined);
          })}
        >
          <Field
            form={form}
            name="password"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters; none of the common ones."
            large
            autoFocus
          />
          {failure !== undefined && <FailureNotice failure={failure} />}
          <Button type="submit" look="primary" wide busy={reset.busy}>
            Set password
          </Button>
        </FormBody>
      )}
    </Door>
  );
}
