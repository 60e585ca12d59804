import { useState } from "react";
import { CreateOrganizationRequestSchema, UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useMe } from "../../session/use-session.ts";
import { settings } from "../../settings.ts";
import { admitOrStart } from "../../shell/admit-or-start.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Section } from "../../widgets/Page.tsx";
import { useCall } from "../../widgets/use-call.ts";

/** For somebody who is nobody's member. */
export function FirstOrganization() {
  const [creating, setCreating] = useState(false);
  const me = useMe();
  const mayCreate = settings.openSignup || me.platformAdmin;
  return (
    <Section
      title="Your organization"
      about={
        mayCreate
          ? "Members, keys, apps and billing belong to an organization. Create one, or ask to be invited to another."
          : "Members, keys, apps and billing belong to an organization. Ask an admin of yours to invite you."
      }
    >
      {mayCreate && (
        <div>
          <Button look="primary" data-create onClick={() => setCreating(true)}>
            Create an organization
          </Button>
        </div>
      )}
      {creating && <Create onClose={() => setCreating(false)} />}
    </Section>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const form = useForm(CreateOrganizationRequestSchema, { name: "" });
  const call = useCall(UsersService.method.createOrganization, { done: ({ name }) => `You are the owner of ${name}` });
  return (
    <Dialog title="Create an organization" about="You become its owner." open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const made = await call.run(values);
          if (made === undefined) return;
          // The organization exists, and the tokens are of it: the dialog has nothing more to send.
          onClose();
          await admitOrStart(made);
        })}
      >
        <Field form={form} name="name" autoFocus autoComplete="organization" />
        <ShowAsCode http="POST /api/organizations" body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
