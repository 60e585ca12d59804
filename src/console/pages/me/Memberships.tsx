import { useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { forgetSession } from "../../session/session.ts";
import { useMe } from "../../session/use-session.ts";
import { Status, Tag } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";
import { roleLabel } from "../roles/use-roles.ts";

/** The organizations of the caller, and the way out of the present one. */
export function Memberships() {
  const { userUuid = "", orgUuid, orgName = "" } = useMe();
  const [leaving, setLeaving] = useState(false);
  const list = useEvery({ method: UsersService.method.listOrganizations });
  const leave = useCall(UsersService.method.deleteUser, { done: `You left ${orgName}` });
  return (
    <Section
      title="Memberships"
      about="The organizations that you belong to, and your role in each."
      actions={orgUuid !== undefined && <Button onClick={() => setLeaving(true)}>Leave organization</Button>}
    >
      <Answer of={list} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p>You belong to no organization.</p>
          ) : (
            <Rows
              caption="Memberships"
              rows={data}
              rowKey={(one) => one.orgUuid}
              columns={[
                {
                  header: "Organization",
                  cell: (one) => (
                    <>
                      {one.name} {one.orgUuid === orgUuid && <Tag>You are here</Tag>}
                    </>
                  ),
                },
                {
                  header: "Role",
                  cell: ({ roleId, role, isOwner }) => `${roleLabel(roleId, role)}${isOwner ? ", owner" : ""}`,
                },
                { header: "Status", cell: ({ status }) => <Status of={status} /> },
                { header: "Since", time: ({ createdAt }) => createdAt },
              ]}
            />
          )
        }
      </Answer>
      <Confirm
        title={`Leave ${orgName}?`}
        about="Your sessions and API keys there end at once. To come back you need an invitation."
        verb="Leave organization"
        typed={orgName}
        open={leaving}
        call={leave}
        onCancel={() => setLeaving(false)}
        onConfirm={() => void leave.run({ userUuid }).then((done) => done && forgetSession())}
      />
    </Section>
  );
}
