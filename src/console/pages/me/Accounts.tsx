import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import type { DeviceAccount } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { deviceUuid } from "../../session/preferences.ts";
import { useMe } from "../../session/use-session.ts";
import { admitOrStart } from "../../shell/admit-or-start.ts";
import { Tag } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useEvery } from "../../widgets/table/use-every.ts";
import { useCall } from "../../widgets/use-call.ts";
import { AddAccount } from "./AddAccount.tsx";

/** The accounts that are signed in on this device: to switch between them without a password. */
export function Accounts() {
  const me = useMe();
  const device = deviceUuid();
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const [forgotten, setForgotten] = useState<DeviceAccount>();
  const accounts = useQuery(SessionsService.method.listDeviceAccounts, { deviceUuid: device });
  const organizations = useEvery({ method: UsersService.method.listOrganizations });
  const change = useCall(SessionsService.method.switchDeviceAccount);
  const forget = useCall(SessionsService.method.removeDeviceAccount, { done: "Account forgotten" });
  const isOwn = ({ userUuid, orgUuid }: DeviceAccount): boolean => userUuid === me.userUuid && orgUuid === me.orgUuid;
  const organizationOf = ({ userUuid, orgUuid }: DeviceAccount) => {
    if (orgUuid === undefined) return "None";
    const known = organizations.data?.data.find((one) => one.orgUuid === orgUuid);
    return userUuid === me.userUuid && known !== undefined ? known.name : <Id of={orgUuid} what="organization id" />;
  };
  const switchTo = async ({ id }: DeviceAccount): Promise<void> => {
    const pair = await change.run({ deviceUuid: device, accountId: id });
    if (pair === undefined) return;
    await admitOrStart(pair);
    void navigate({ to: "/console" });
  };
  return (
    <Section
      title="Accounts on this device"
      about="Accounts that you added in this browser. You switch to one without its password while its session lasts."
      actions={<Button onClick={() => setAdding(true)}>Add account</Button>}
    >
      {change.failure !== undefined && <FailureNotice failure={change.failure} />}
      <Answer of={accounts} lines={2}>
        {({ data }) => (
          <Rows
            caption="Accounts on this device"
            rows={data}
            rowKey={({ id }) => id}
            columns={[
              {
                header: "Email",
                cell: (account) => (
                  <>
                    {account.email} {isOwn(account) && <Tag>This account</Tag>}
                  </>
                ),
              },
              { header: "Organization", cell: organizationOf },
              { header: "Last used", time: ({ lastUsedAt }) => lastUsedAt },
            ]}
            actions={(account) =>
              !isOwn(account) && (
                <>
                  <Button small title={account.email} busy={change.busy} onClick={() => void switchTo(account)}>
                    Switch account
                  </Button>
                  <Button small title={account.email} onClick={() => setForgotten(account)}>
                    Forget account
                  </Button>
                </>
              )
            }
          />
        )}
      </Answer>
      {adding && <AddAccount deviceUuid={device} onClose={() => setAdding(false)} />}
      <Confirm
        title={`Forget ${forgotten?.email ?? ""}?`}
        about="The account leaves this device. To come back to it here, somebody has to sign in to it again."
        verb="Forget account"
        open={forgotten !== undefined}
        call={forget}
        onCancel={() => setForgotten(undefined)}
        onConfirm={() => {
          if (forgotten === undefined) return;
          void forget.run({ deviceUuid: device, id: forgotten.id }).then((done) => done && setForgotten(undefined));
        }}
      />
    </Section>
  );
}
