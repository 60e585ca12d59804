import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { LoginService } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import type { OwnSession } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { useMe } from "../../session/use-session.ts";
import { SignOutEverywhere } from "../../shell/SignOutEverywhere.tsx";
import { Tag } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { Time } from "../../widgets/Time.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { deviceOf } from "../../widgets/words.ts";
import { Accounts } from "./Accounts.tsx";

/** The sessions of the caller on all devices. */
export default function Sessions() {
  // The service ends single sessions, and keeps accounts of a device, for members of an organization alone.
  const isMember = useMe().orgUuid !== undefined;
  const [asking, setAsking] = useState(false);
  const [ending, setEnding] = useState<OwnSession>();
  const end = useCall(SessionsService.method.revokeDeviceSession, { done: "Signed out" });
  const device = deviceOf(ending?.userAgent ?? "");
  return (
    <Page
      title="Sessions"
      about="Where you are signed in. Sign out a device you no longer use or have lost."
      actions={isMember && <Button onClick={() => setAsking(true)}>Sign out everywhere else</Button>}
    >
      {!isMember && (
        <Notice>
          Without an organization you end your other sessions by a new password.{" "}
          <Link to="/console/me/security">Set a new password</Link>
        </Notice>
      )}
      <DataTable
        caption="Your sessions"
        things="sessions"
        method={LoginService.method.listOwnSessions}
        rowKey={({ sessionId }) => sessionId}
        columns={[
          {
            header: "Device",
            cell: ({ userAgent, current }) => (
              <>
                <span title={userAgent}>{deviceOf(userAgent)}</span> {current && <Tag>This session</Tag>}
              </>
            ),
            csv: ({ userAgent }) => userAgent,
          },
          {
            header: "Device id",
            cell: ({ deviceUuid }) => <Id of={deviceUuid} what="device id" />,
            csv: ({ deviceUuid }) => deviceUuid,
          },
          { header: "IP address", cell: ({ ipAddress }) => ipAddress, csv: ({ ipAddress }) => ipAddress },
          { header: "Signed in", sort: "created_at", time: ({ createdAt }) => createdAt },
          { header: "Last seen", sort: "last_seen_at", time: ({ lastSeenAt }) => lastSeenAt },
        ]}
        actions={(session) =>
          isMember &&
          !session.current && (
            <Button small aria-label={`Sign out ${deviceOf(session.userAgent)}`} onClick={() => setEnding(session)}>
              Sign out
            </Button>
          )
        }
        empty={{ text: "You have no session." }}
        refetchMs={30_000}
      />
      <Confirm
        title={`Sign out ${device}?`}
        about={
          <>
            This ends the session from {ending?.ipAddress}, last seen <Time at={ending?.lastSeenAt} />, at once. Nobody
            goes on there without signing in again.
          </>
        }
        verb="Sign out"
        open={ending !== undefined}
        call={end}
        onCancel={() => setEnding(undefined)}
        onConfirm={() => {
          if (ending === undefined) return;
          const { deviceUuid, sessionId } = ending;
          void end.run({ deviceUuid, sessionId }).then((done) => done && setEnding(undefined));
        }}
      />
      <SignOutEverywhere butHere open={asking} onClose={() => setAsking(false)} />
      {isMember && <Accounts />}
      <CodeSample http="GET /api/auth/sessions" />
    </Page>
  );
}
