import {
  ServiceIdentitiesService,
  UpdateServiceIdentityRequestSchema,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import type { ServiceIdentityDetail } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { useCall } from "../../widgets/use-call.ts";
import { RoleField } from "./RoleField.tsx";

interface EditProps {
  identity: ServiceIdentityDetail;
  onClose: () => void;
}

/** Changes the name, the purpose and the role of a service identity. */
export function EditIdentity({ identity, onClose }: EditProps) {
  const orgUuid = useOrg();
  const { identityId, name, description, roleId } = identity;
  const form = useForm(UpdateServiceIdentityRequestSchema, {
    orgUuid,
    identityId,
    name,
    description: description ?? "",
    roleId,
  });
  const call = useCall(ServiceIdentitiesService.method.updateServiceIdentity, { done: "Service identity saved" });
  return (
    <Dialog
      title={`Edit ${name}`}
      about="Another role counts from the next request of the workload on, on open connections too."
      open
      dirty={form.changed}
      onClose={onClose}
    >
      <FormBody
        form={form}
        onSubmit={form.submit(async () => {
          if (!form.changed || (await call.run({ orgUuid, identityId, ...form.changes })) !== undefined) onClose();
        })}
      >
        <Field form={form} name="name" />
        <Field form={form} name="description" />
        <RoleField
          value={form.values.roleId}
          onChange={(role) => form.set({ roleId: role })}
          error={form.errors["roleId"]}
        />
        <SubmitActions call={call} verb="Save" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
