import { ChangePasswordRequestSchema, UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** Sets a new password with the present one. */
export function ChangePassword() {
  const form = useForm(ChangePasswordRequestSchema, { currentPassword: "", newPassword: "" }, true);
  const change = useCall(UsersService.method.changePassword, {
    done: "Password changed. Your other sessions have ended.",
  });
  return (
    <Section title="Password" about="A change ends every session of yours but this one.">
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
    </Section>
  );
}
