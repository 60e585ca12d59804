import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { ForgotPasswordRequestSchema, LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { publicTransport } from "../session/transport.ts";
import { Button } from "../widgets/Button.tsx";
import { Field, FormBody } from "../widgets/form/Field.tsx";
import { useForm } from "../widgets/form/use-form.ts";
import { Done, FailureNotice } from "../widgets/Notice.tsx";
import { useCall } from "../widgets/use-call.ts";
import { Door } from "./Door.tsx";

/** Asks for a mail to set a new password. The answer is the same whether the address is known or not. */
export default function ForgotPassword() {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const form = useForm(ForgotPasswordRequestSchema, { email: search["email"] ?? "" });
  const forgot = useCall(LoginService.method.forgotPassword, { transport: publicTransport });
  const [sent, setSent] = useState(false);
  return (
    <Door title="Reset your password" foot={<Link to="/sign-in">Go to sign-in</Link>}>
      {sent ? (
        <Done>If {form.values.email} has an account, a mail with a link is on its way. The link works once.</Done>
      ) : (
        <FormBody
          form={form}
          onSubmit={form.submit(async ({ email }) => {
            const done = await forgot.run({ email: email?.trim() ?? "" });
            setSent(done !== undefined);
          })}
        >
          <Field form={form} name="email" type="email" autoComplete="username" large autoFocus spellCheck={false} />
          {forgot.failure !== undefined && <FailureNotice failure={forgot.failure} />}
          <Button type="submit" look="primary" wide busy={forgot.busy}>
            Send the link
          </Button>
        </FormBody>
      )}
    </Door>
  );
}
