import { createClient } from "@connectrpc/connect";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import type { Permission, Role as RoleMessage } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { changedMeanwhile, failureOf } from "../../session/failures.ts";
import type { Failure } from "../../session/failures.ts";
import { queries, transport } from "../../session/session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { FormBody } from "../../widgets/form/Field.tsx";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Diff } from "./Diff.tsx";
import { PermissionChecks, PermissionList } from "./PermissionChecks.tsx";
import { Simulate } from "./Simulate.tsx";
import { isBuiltIn, roleLabel, useCatalogue, useRolePermissions, useRoles } from "./use-roles.ts";

const rbac = createClient(RbacService, transport);

/** One role: its permissions, and who has it. */
export default function Role() {
  const { role: id = "" }: { role?: string } = useParams({ strict: false });
  const roles = useRoles();
  const role = roles.data?.data.find((one) => String(one.id) === id);
  if (role !== undefined) return <Details role={role} />;
  return (
    <Page title="Role">
      <Answer of={roles} fresh>
        {() => (
          <Empty
            text="This organization has no such role."
            action={<ButtonLink to="/console/roles">Go to the roles</ButtonLink>}
          />
        )}
      </Answer>
    </Page>
  );
}

function Details({ role: { id, name } }: { role: RoleMessage }) {
  const [open, setOpen] = useState<"edit" | "simulate">();
  const catalogue = useCatalogue();
  const held = useRolePermissions(id);
  const close = (): void => setOpen(undefined);
  const locked = isBuiltIn(id);
  const loaded = catalogue.data !== undefined && held.data !== undefined;
  return (
    <Page
      title={roleLabel(id, name)}
      about={locked ? "Built in: it exists in every organization and never changes." : "A role of this organization."}
      actions={
        <>
          {!locked && (
            <Button look="primary" disabled={!loaded} onClick={() => setOpen("edit")}>
              Edit
            </Button>
          )}
          <Button onClick={() => setOpen("simulate")}>Simulate</Button>
        </>
      }
    >
      <Section title="Permissions">
        <Answer of={catalogue}>
          {({ data }) => (
            <Answer of={held}>
              {(has) => <PermissionList catalogue={data} held={new Set(has.data.map((one) => one.name))} />}
            </Answer>
          )}
        </Answer>
      </Section>
      <Section title="Members" about="Who has this role.">
        <DataTable
          caption="Members"
          things="members"
          method={UsersService.method.listUsers}
          input={{ roleId: id }}
          rowKey={({ userUuid }) => userUuid}
          columns={[
            {
              header: "Email",
              sort: "email",
              cell: ({ userUuid, email }) => <Link to={`/console/members/${userUuid}`}>{email}</Link>,
              csv: ({ email }) => email,
            },
            { header: "First name", cell: ({ firstName }) => firstName, csv: ({ firstName }) => firstName },
            { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
            { header: "Last seen", time: ({ lastSeenAt }) => lastSeenAt },
          ]}
          empty={{
            text: "Nobody has this role yet. Give it to a member on their page.",
            api: "PUT /api/users/{user_uuid}/role",
          }}
        />
      </Section>
      {locked ? (
        <CodeSample http={`GET /api/roles/${id}/permissions`} />
      ) : (
        <CodeSample
          http={`PUT /api/roles/${id}/permissions`}
          body={{ permissions: held.data?.data.map((one) => one.id) ?? [] }}
        />
      )}
      {open === "edit" && loaded && (
        <Edit role={{ id, name }} catalogue={catalogue.data.data} held={held.data.data} onClose={close} />
      )}
      {open === "simulate" && <Simulate roleId={id} onClose={close} />}
    </Page>
  );
}

interface EditProps {
  role: Pick<RoleMessage, "id" | "name">;
  catalogue: readonly Permission[];
  held: readonly Permission[];
  onClose: () => void;
}

/** Changes the permissions of a role; what its members gain and lose is shown before it is saved. */
function Edit({ role: { id, name }, catalogue, held, onClose }: EditProps) {
  // The page reads the role again while the dialog is open.
  const [first] = useState(held);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(() => new Set(first.map((one) => one.id)));
  const [failure, setFailure] = useState<Failure>();
  const call = useCall(RbacService.method.replaceRolePermissions, { done: "Role saved" });
  const before = first.map((one) => one.name);
  const after = catalogue.filter((one) => chosen.has(one.id)).map((one) => one.name);
  const changed = before.length !== after.length || before.some((one) => !after.includes(one));
  /** All permissions are replaced: what somebody else gave or took meanwhile would be undone. */
  const save = async (): Promise<unknown> => {
    const change = await changeOf(id, first);
    setFailure(change);
    if (change !== undefined) return undefined;
    const permissions = [...chosen].sort((a, b) => a - b);
    return call.run({ roleId: id, permissions, removeAll: permissions.length === 0 });
  };
  return (
    <Dialog title={`Edit ${name}`} open wide dirty={changed} onClose={onClose}>
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void save().then((done) => done && onClose());
        }}
      >
        <PermissionChecks catalogue={catalogue} chosen={chosen} onChange={setChosen} />
        <Diff before={before} after={after} />
        <SubmitActions call={{ busy: call.busy, failure: failure ?? call.failure }} verb="Save" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}

/** Why a role must not be replaced: it has other permissions than the caller saw, or cannot be read. */
async function changeOf(roleId: number, seen: readonly Permission[]): Promise<Failure | undefined> {
  try {
    const { data } = await rbac.listRolePermissions({ roleId });
    const ids = new Set(data.map((one) => one.id));
    if (ids.size === seen.length && seen.every((one) => ids.has(one.id))) return undefined;
    void queries.invalidateQueries();
    return changedMeanwhile("role");
  } catch (error) {
    return failureOf(error);
  }
}
