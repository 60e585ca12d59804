import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { SessionsService } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import type { Session } from "../../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button, ButtonLink } from "../../widgets/Button.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { deviceOf } from "../../widgets/words.ts";

/** Where a member is signed in: the ten sessions seen last. */
export function MemberSessions({ userUuid, name }: { userUuid: string; name: string }) {
  const orgUuid = useOrg();
  const [ended, setEnded] = useState<Session>();
  const answer = useQuery(SessionsService.method.listOrganizationSessions, { orgUuid, userUuid, limit: 10 });
  const revoke = useCall(SessionsService.method.revokeOrganizationSession, { done: "Session revoked" });
  return (
    <Section
      title="Sessions"
      about="In this organization, last seen first."
      actions={
        <ButtonLink to="/console/sessions" search={{ user_uuid: userUuid }}>
          All sessions
        </ButtonLink>
      }
    >
      <Answer of={answer}>
        {({ data }) =>
          data.length === 0 ? (
            <p>{name} is not signed in.</p>
          ) : (
            <Rows
              caption="Sessions"
              rows={data}
              rowKey={({ sessionId }) => sessionId}
              columns={[
                { header: "Device", cell: ({ userAgent }) => <span title={userAgent}>{deviceOf(userAgent)}</span> },
                { header: "IP address", cell: ({ ipAddress }) => ipAddress },
                { header: "Last seen", time: ({ lastSeenAt }) => lastSeenAt },
                { header: "Signed in", time: ({ createdAt }) => createdAt },
              ]}
              actions={(session) => (
                <Button small onClick={() => setEnded(session)}>
                  Revoke
                </Button>
              )}
            />
          )
        }
      </Answer>
      <Confirm
        title="Revoke this session?"
        about={`${deviceOf(ended?.userAgent ?? "")} is signed out. Its next request is refused.`}
        verb="Revoke"
        open={ended !== undefined}
        call={revoke}
        onCancel={() => setEnded(undefined)}
        onConfirm={() => {
          if (ended === undefined) return;
          void revoke.run({ orgUuid, sessionId: ended.sessionId }).then((done) => done && setEnded(undefined));
        }}
      />
    </Section>
  );
}

/** The last ten events of the audit log that are about a member. */
export function MemberEvents({ userUuid }: { userUuid: string }) {
  const orgUuid = useOrg();
  const answer = useQuery(AuthEventsService.method.listAuditEvents, { orgUuid, userUuid, limit: 10 });
  return (
    <Section
      title="Last events"
      actions={
        <ButtonLink to="/console/audit" search={{ user_uuid: userUuid }}>
          All events
        </ButtonLink>
      }
    >
      <Answer of={answer}>
        {({ data }) =>
          data.length === 0 ? (
            <p>Nothing has happened yet.</p>
          ) : (
            <Rows
              caption="Last events"
              rows={data}
              rowKey={({ eventId }) => eventId}
              columns={[
                { header: "Event", cell: ({ type }) => <code>{type}</code> },
                { header: "Outcome", cell: ({ outcome }) => <Status of={outcome} /> },
                { header: "IP address", cell: ({ ipAddress }) => ipAddress },
                { header: "Time", time: ({ createdAt }) => createdAt },
              ]}
            />
          )
        }
      </Answer>
    </Section>
  );
}
