import { Link } from "@tanstack/react-router";
import { useState } from "react";
import {
  CreateServiceIdentityRequestSchema,
  ServiceIdentitiesService,
} from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample, ShowAsCode, bodyOf } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { EMPLOYEE, roleLabel, useRoles } from "../roles/use-roles.ts";
import { RoleField } from "./RoleField.tsx";

/** Programs with an identity of their own. */
export default function Identities() {
  const orgUuid = useOrg();
  const [creating, setCreating] = useState(false);
  const roles = useRoles();
  const names = new Map(roles.data?.data.map(({ id, name }) => [id, name]));
  return (
    <Page
      title="Service identities"
      about="Workloads that prove who they are by an SVID or an automation token, with the power of a role."
      actions={
        <Button look="primary" data-create onClick={() => setCreating(true)}>
          Create service identity
        </Button>
      }
    >
      <DataTable
        caption="Service identities"
        things="service identities"
        method={ServiceIdentitiesService.method.listServiceIdentities}
        input={{ orgUuid }}
        rowKey={({ identityId }) => identityId}
        columns={[
          {
            header: "Name",
            sort: "name",
            cell: ({ identityId, name }) => <Link to={`/console/identities/${identityId}`}>{name}</Link>,
            csv: ({ name }) => name,
          },
          {
            header: "Description",
            cell: ({ description }) => description ?? "–",
            csv: ({ description }) => description,
          },
          {
            header: "Role",
            cell: ({ roleId }) => roleLabel(roleId, names.get(roleId) ?? String(roleId)),
            csv: ({ roleId }) => names.get(roleId) ?? roleId,
          },
          { header: "SVIDs", cell: ({ svidCount }) => svidCount, csv: ({ svidCount }) => svidCount, right: true },
          { header: "Created", sort: "created_at", time: ({ createdAt }) => createdAt },
          { header: "Last seen", time: ({ lastAuthAt }) => lastAuthAt },
        ]}
        empty={{
          text: "No workload has an identity yet.",
          api: `POST /api/organizations/${orgUuid}/service-identities`,
        }}
      />
      {creating && <Create onClose={() => setCreating(false)} />}
      <CodeSample http={`POST /api/organizations/${orgUuid}/service-identities`} body={{ name: "billing-worker" }} />
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const orgUuid = useOrg();
  const form = useForm(CreateServiceIdentityRequestSchema, {
    orgUuid,
    name: "",
    description: "",
    roleId: EMPLOYEE,
  });
  const call = useCall(ServiceIdentitiesService.method.createServiceIdentity, { done: "Service identity created" });
  return (
    <Dialog title="Create service identity" open dirty={form.changed} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async ({ description, ...values }) => {
          const made = await call.run({ ...values, ...(description !== "" && { description: String(description) }) });
          if (made !== undefined) onClose();
        })}
      >
        <Field form={form} name="name" />
        <Field form={form} name="description" />
        <RoleField
          value={form.values.roleId}
          onChange={(roleId) => form.set({ roleId })}
          error={form.errors["roleId"]}
        />
        <ShowAsCode http={`POST /api/organizations/${orgUuid}/service-identities`} body={bodyOf(form.values)} />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
