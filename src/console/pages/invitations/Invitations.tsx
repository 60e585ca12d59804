import { useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { Invitation } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { useCall } from "../../widgets/use-call.ts";
import { roleLabel } from "../roles/use-roles.ts";
import { Invite } from "./Invite.tsx";

/** Invitations that are not accepted: their people can be invited again. */
const RESENT: ReadonlySet<string> = new Set(["pending", "expired", "withdrawn"]);

/** Who was asked to join, and has not answered. */
export default function Invitations() {
  const orgUuid = useOrg();
  const [inviting, setInviting] = useState(false);
  const [withdrawn, setWithdrawn] = useState<Invitation>();
  const withdraw = useCall(UsersService.method.deleteInvitation, { done: "Invitation withdrawn" });
  const resend = useCall(UsersService.method.createInvitation, {
    done: "Invitation sent again",
    onFailure: alertToast,
  });
  return (
    <Page
      title="Invitations"
      about="People who were asked to join, by mail. An invitation works once."
      actions={
        <Button look="primary" data-create onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      <DataTable
        caption="Invitations"
        things="invitations"
        method={UsersService.method.listInvitations}
        input={{ orgUuid }}
        rowKey={({ invitationId }) => invitationId}
        columns={[
          { header: "Email", sort: "email", cell: ({ email }) => email, csv: ({ email }) => email },
          { header: "Role", cell: ({ roleId, role }) => roleLabel(roleId, role), csv: ({ role }) => role },
          { header: "Status", cell: ({ status }) => <Status of={status} />, csv: ({ status }) => status },
          { header: "Sent", sort: "created_at", time: ({ createdAt }) => createdAt },
          {
            header: "Expires",
            // One that was accepted or withdrawn is over.
            time: ({ status, expiresAt }) => (RESENT.has(status) ? expiresAt : undefined),
            none: "–",
          },
        ]}
        actions={(invitation) =>
          RESENT.has(invitation.status) && (
            <>
              <Button
                small
                title={invitation.email}
                onClick={() => void resend.run({ orgUuid, email: invitation.email, roleId: invitation.roleId })}
              >
                Resend
              </Button>
              {invitation.status === "pending" && (
                <Button small title={invitation.email} onClick={() => setWithdrawn(invitation)}>
                  Withdraw
                </Button>
              )}
            </>
          )
        }
        empty={{
          text: "Nobody is invited. Invite people by their addresses.",
          api: `POST /api/admin/organizations/${orgUuid}/invitations`,
        }}
      />
      {inviting && <Invite onClose={() => setInviting(false)} />}
      <Confirm
        title={`Withdraw the invitation of ${withdrawn?.email ?? ""}?`}
        about="The link in their mail stops working."
        verb="Withdraw"
        open={withdrawn !== undefined}
        call={withdraw}
        onCancel={() => setWithdrawn(undefined)}
        onConfirm={() => {
          if (withdrawn === undefined) return;
          void withdraw
            .run({ orgUuid, invitationId: withdrawn.invitationId })
            .then((done) => done && setWithdrawn(undefined));
        }}
      />
      <CodeSample
        http={`POST /api/admin/organizations/${orgUuid}/invitations`}
        body={{ email: "ada@example.com", role_id: 2 }}
      />
    </Page>
  );
}
