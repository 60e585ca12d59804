import { useQuery } from "@connectrpc/connect-query";
import { ChangePasswordRequestSchema, UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** The password of the caller: changed with the present one, set by mail where there is none. */
export function Password() {
  const profile = useQuery(UsersService.method.getProfile, {});
  return (
    <Section title="Password" about="A change ends every session of yours but this one.">
      <Answer of={profile} lines={3}>
        {({ hasPassword, email }) => (hasPassword ? <Change /> : <FirstPassword email={email} />)}
      </Answer>
    </Section>
  );
}

function FirstPassword({ email }: { email: string }) {
  return (
    <>
      <p>You have no password. To set one, ask for a mail; with the new password you sign in again everywhere.</p>
      <div>
        <ButtonLink to="/forgot-password" search={{ email }}>
          Set a password
        </ButtonLink>
      </div>
    </>
  );
}

function Change() {
  const form = useForm(ChangePasswordRequestSchema, { currentPassword: "", newPassword: "" }, true);
  const change = useCall(UsersService.method.changePassword, {
    done: "Password changed. Your other sessions have ended.",
  });
  return (
    <FormBody
      form={form}
      onSubmit={form.submit(async (values) => {
        if ((await change.run(values)) !== undefined) form.reset();
      })}
    >
      <Field form={form} name="currentPassword" type="password" autoComplete="current-password" />
      <Field
        form={form}
        name="newPassword"
        type="password"
        autoComplete="new-password"
        hint="At least 8 characters; none of the common ones."
      />
      {change.failure !== undefined && <FailureNotice failure={change.failure} />}
      <div>
        <Button type="submit" busy={change.busy}>
          Change password
        </Button>
      </div>
    </FormBody>
  );
}
