import { useState } from "react";
import { LoginService } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { endOtherSessions } from "../../session/end-others.ts";
import { failureOf } from "../../session/failures.ts";
import { Tag } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { Time } from "../../widgets/Time.tsx";
import { alertToast } from "../../widgets/toasts.ts";
import { useCall } from "../../widgets/use-call.ts";
import { deviceOf } from "../../widgets/words.ts";
import { Accounts } from "./Accounts.tsx";

/** The sessions of the caller on all devices. */
export default function Sessions() {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const end = useCall(SessionsService.method.revokeDeviceSession, { done: "Signed out" });
  async function endOthers(): Promise<void> {
    setBusy(true);
    try {
      await endOtherSessions();
      setAsking(false);
    } catch (error) {
      alertToast(failureOf(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Page
      title="Sessions"
      about="Where you are signed in. Sign out a device you no longer use or have lost."
      actions={<Button onClick={() => setAsking(true)}>Sign out everywhere else</Button>}
    >
      <DataTable
        caption="Your sessions"
        things="sessions"
        method={LoginService.method.listOwnSessions}
        request={({ q, sort, limit, offset }) => ({
          limit,
          offset,
          ...(q !== "" && { q }),
          ...(sort !== "" && { sort }),
        })}
        searchable
        rows={({ data }) => data}
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
          { header: "Signed in", sort: "created_at", cell: ({ createdAt }) => <Time at={createdAt} /> },
          { header: "Last seen", sort: "last_seen_at", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
        ]}
        actions={({ current, deviceUuid, sessionId, userAgent }) =>
          !current && (
            <Button
              small
              aria-label={`Sign out ${deviceOf(userAgent)}`}
              busy={end.busy}
              onClick={() => void end.run({ deviceUuid, sessionId })}
            >
              Sign out
            </Button>
          )
        }
        empty={{ text: "You have no session." }}
        refetchMs={30_000}
      />
      <Confirm
        title="Sign out everywhere else?"
        about="Every other session of yours ends at once, on all devices. This one goes on."
        verb="Sign out everywhere else"
        open={asking}
        busy={busy}
        onCancel={() => setAsking(false)}
        onConfirm={() => void endOthers()}
      />
      <CodeSample http="GET /api/auth/sessions" />
      <Accounts />
    </Page>
  );
}
