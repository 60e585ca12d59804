import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { User } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { forgetSession } from "../../session/session.ts";
import { useMe, useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { Invite } from "../invitations/Invite.tsx";
import { roleLabel } from "../roles/use-roles.ts";
import { useIsOwner } from "./use-own-membership.ts";

/** The people of the organization. */
export default function Members() {
  const orgUuid = useOrg();
  const { userUuid: own } = useMe();
  const byOwner = useIsOwner();
  const [inviting, setInviting] = useState(false);
  const [removed, setRemoved] = useState<User>();
  const remove = useCall(UsersService.method.deleteUser, { done: "Member removed" });
  return (
    <Page
      title="Members"
      about="The people of this organization, and what each may do."
      actions={
        <Button look="primary" data-create onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      <DataTable
        caption="Members"
        things="members"
        method={UsersService.method.listUsers}
        rowKey={({ userUuid }) => userUuid}
        filters={[
          {
            name: "status",
            label: "Status",
            values: [
              ["active", "Active"],
              ["inactive", "Inactive"],
            ],
          },
        ]}
        columns={[
          {
            header: "Email",
            sort: "email",
            cell: ({ userUuid, email }) => <Link to={`/console/members/${userUuid}`}>{email}</Link>,
            csv: ({ email }) => email,
          },
          { header: "First name", cell: ({ firstName }) => firstName || "–", csv: ({ firstName }) => firstName },
          {
            header: "Role",
            cell: ({ roleId, role, isOwner }) => `${roleLabel(roleId, role)}${isOwner ? ", owner" : ""}`,
            csv: ({ role }) => role,
          },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          {
            header: "Second factor",
            cell: ({ mfaActive }) => (mfaActive ? "Active" : "None"),
            csv: ({ mfaActive }) => (mfaActive ? "active" : "none"),
          },
          { header: "Last seen", time: ({ lastSeenAt }) => lastSeenAt },
          { header: "Joined", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(user) =>
          (!user.isOwner || byOwner) && (
            <Button small title={user.email} onClick={() => setRemoved(user)}>
              Remove
            </Button>
          )
        }
        empty={{
          text: "Nobody is a member yet. Invite people by email.",
          api: `POST /api/admin/organizations/${orgUuid}/invitations`,
        }}
      />
      {inviting && <Invite onClose={() => setInviting(false)} />}
      <Confirm
        title={`Remove ${removed?.email ?? ""}?`}
        about="Their sessions and API keys in this organization end at once. Invitations that they sent are withdrawn."
        verb="Remove"
        typed={removed?.email}
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          const { userUuid } = removed;
          void remove.run({ userUuid }).then((done) => {
            if (done === undefined) return;
            if (userUuid === own) forgetSession();
            else setRemoved(undefined);
          });
        }}
      />
      <CodeSample http="GET /api/users?limit=50" />
    </Page>
  );
}
