import { useQuery } from "@connectrpc/connect-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { LoginService } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import type { Session } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { useMe, useOrg } from "../../session/use-session.ts";
import { Tag } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Check } from "../../widgets/form/Field.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { deviceOf, plural } from "../../widgets/words.ts";
import { everybody, Person, usePerson, usePersonFilter } from "../members/Person.tsx";

/** Who is signed in to the organization, and from where. */
export default function SessionInventory() {
  const orgUuid = useOrg();
  const { orgName } = useMe();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const [ended, setEnded] = useState<Session>();
  const endedPerson = usePerson(ended?.userUuid);
  const personFilter = usePersonFilter();
  const own = useQuery(LoginService.method.listOwnSessions, { limit: 200 });
  const ownId = own.data?.data.find(({ current }) => current)?.sessionId;
  const [all, setAll] = useState(false);
  const [keep, setKeep] = useState(true);
  const deviceUuid = search["device_uuid"];
  const [endsDevice, setEndsDevice] = useState(false);
  const live = useQuery(
    SessionsService.method.listOrganizationSessions,
    { orgUuid, limit: 1 },
    { enabled: all, staleTime: 0 },
  );
  const revoke = useCall(SessionsService.method.revokeOrganizationSession, { done: "Session revoked" });
  const revokeAll = useCall(SessionsService.method.revokeAllOrganizationSessions, {
    done: ({ revoked }) => `${plural(revoked, "session")} revoked`,
  });
  const revokeDevice = useCall(SessionsService.method.revokeDeviceSessions, {
    done: ({ revoked }) => `${plural(revoked, "session")} revoked`,
  });
  return (
    <Page
      title="Session inventory"
      about="Every session in this organization. A revoked one is refused from its next request on."
      actions={
        <>
          {deviceUuid !== undefined && <Button onClick={() => setEndsDevice(true)}>Revoke device</Button>}
          <Button onClick={() => setAll(true)}>Revoke all</Button>
        </>
      }
    >
      <DataTable
        caption="Sessions"
        things="sessions"
        method={SessionsService.method.listOrganizationSessions}
        input={{ orgUuid }}
        filters={[
          personFilter,
          { name: "device_uuid", label: "Device", values: [] },
          {
            name: "status",
            label: "Status",
            // Without a status the service lists the active ones alone.
            unset: "active",
            values: [["ended", "Ended in the last 30 days"]],
          },
        ]}
        rowKey={({ sessionId }) => sessionId}
        columns={[
          {
            header: "Person",
            cell: ({ sessionId, userUuid }) => (
              <>
                <Person of={userUuid} /> {sessionId === ownId && <Tag>This session</Tag>}
              </>
            ),
            csv: async ({ userUuid }) => (await everybody()).get(userUuid) ?? userUuid,
          },
          {
            header: "Device",
            cell: ({ userAgent, deviceUuid }) => (
              <Link to="." search={{ ...search, device_uuid: deviceUuid, page: undefined }} title={userAgent}>
                {deviceOf(userAgent)}
              </Link>
            ),
            csv: ({ userAgent }) => userAgent,
          },
          { header: "IP address", cell: ({ ipAddress }) => ipAddress, csv: ({ ipAddress }) => ipAddress },
          { header: "Last seen", sort: "last_seen_at", time: ({ lastSeenAt }) => lastSeenAt },
          { header: "Signed in", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        actions={(session) =>
          search["status"] !== "ended" && (
            <Button small onClick={() => setEnded(session)}>
              Revoke
            </Button>
          )
        }
        empty={{ text: "Nobody is signed in.", api: `GET /api/organizations/${orgUuid}/session-inventory` }}
      />
      <Confirm
        title={ended !== undefined && ended.sessionId === ownId ? "Revoke your own session?" : "Revoke this session?"}
        about={`${endedPerson ?? "This person"} is signed out on ${deviceOf(
          ended?.userAgent ?? "",
        )}. The next request from there is refused.`}
        verb="Revoke"
        open={ended !== undefined}
        call={revoke}
        onCancel={() => setEnded(undefined)}
        onConfirm={() => {
          if (ended === undefined) return;
          void revoke.run({ orgUuid, sessionId: ended.sessionId }).then((done) => done && setEnded(undefined));
        }}
      />
      <Confirm
        title="Revoke all sessions?"
        about={`${endsOf(live.data?.total, keep)}: everybody here is signed out at once, on every device.`}
        verb="Revoke all"
        typed={orgName}
        open={all}
        call={revokeAll}
        onCancel={() => setAll(false)}
        onConfirm={() => void revokeAll.run({ orgUuid, excludeCurrent: keep }).then((done) => done && setAll(false))}
      >
        <Check label="Keep this session" checked={keep} onChange={setKeep} />
      </Confirm>
      <Confirm
        title="Revoke every session on this device?"
        about="Everybody of this organization is signed out there at once, and you from every organization of yours."
        verb="Revoke device"
        open={endsDevice}
        call={revokeDevice}
        onCancel={() => setEndsDevice(false)}
        onConfirm={() => {
          if (deviceUuid === undefined) return;
          void revokeDevice.run({ deviceUuid, excludeCurrent: keep }).then((done) => done && setEndsDevice(false));
        }}
      >
        <Check label="Keep this session" checked={keep} onChange={setKeep} />
      </Confirm>
      <CodeSample http={`POST /api/organizations/${orgUuid}/revoke-all-sessions`} body={{ exclude_current: true }} />
    </Page>
  );
}

/** `This ends 14 sessions`. */
function endsOf(total: number | undefined, keepsOwn: boolean): string {
  return total === undefined
    ? "This ends every session"
    : `This ends ${plural(keepsOwn ? total - 1 : total, "session")}`;
}
