import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import type { AuditEvent } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Id } from "../../widgets/Copy.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { Person, usePerson } from "../members/Person.tsx";
import { Tree } from "./Tree.tsx";
import { useActors } from "./use-actors.ts";

/** One event of the audit log. */
export default function Event() {
  const orgUuid = useOrg();
  const { event: eventId = "" }: { event?: string } = useParams({ strict: false });
  const answer = useQuery(AuthEventsService.method.listAuditEvents, { orgUuid, eventId, limit: 1 });
  const event = answer.data?.data[0];
  if (event !== undefined) return <Details event={event} />;
  return (
    <Page title="Audit event">
      <Answer of={answer}>
        {() => (
          <p>
            The log of this organization has no event with this id. <Link to="/console/audit">Audit log</Link>
          </p>
        )}
      </Answer>
    </Page>
  );
}

function Details({ event }: { event: AuditEvent }) {
  const orgUuid = useOrg();
  const navigate = useNavigate();
  const actorOf = useActors();
  const { actor, userUuid, resourceType, resourceId, metadata = {} } = event;
  const resourcePerson = usePerson(resourceType === "user" ? resourceId : undefined);
  const by = actor?.email ?? actor?.id ?? userUuid;
  const list = (search: Readonly<Record<string, string>>) => void navigate({ to: "/console/audit", search });
  return (
    <Page
      title={event.type}
      about="As it is linked in the log of this organization."
      actions={
        <>
          {by !== undefined && <Button onClick={() => list({ actor: by })}>All by this actor</Button>}
          <Button onClick={() => list({ type: event.type })}>All of this type</Button>
        </>
      }
    >
      <Facts>
        {[
          ["Event id", <Id key="id" of={event.eventId} what="event id" />],
          ["Outcome", <Status key="outcome" of={event.outcome} />],
          ["Actor", actorOf(event)],
          ["Person", userUuid === undefined ? "–" : <Person key="person" of={userUuid} />],
          ["Resource", [resourceType, resourcePerson ?? resourceId].filter(Boolean).join(" ") || "–"],
          ["IP address", event.ipAddress],
          ["User agent", event.userAgent],
          ["Time", <Time key="at" at={event.createdAt} />],
        ]}
      </Facts>
      <Section title="Metadata">
        <Tree of={metadata} />
      </Section>
      <CodeSample http={`GET /api/organizations/${orgUuid}/audit-events?event_id=${event.eventId}`} />
    </Page>
  );
}
