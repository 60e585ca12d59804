import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { useMe, useOrg } from "../../session/use-session.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm } from "../../widgets/Dialog.tsx";
import { Page } from "../../widgets/Page.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { plural } from "../../widgets/words.ts";
import { usePersonFilter } from "../members/Person.tsx";
import { AuditChart } from "./AuditChart.tsx";
import { Export } from "./Export.tsx";
import { Proof } from "./Proof.tsx";
import { useActors } from "./use-actors.ts";

/** Who did what, as the organization's chained log has it. */
export default function Audit() {
  const orgUuid = useOrg();
  const { orgName } = useMe();
  const personFilter = usePersonFilter();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  // Not named `to`: the service's `to` is exclusive, and the address keeps the day that was chosen.
  const { last_day: lastDay = "" } = search;
  const [live, setLive] = useState(false);
  const [purging, setPurging] = useState(false);
  const purge = useCall(AuthEventsService.method.purgeAuthEvents, {
    done: ({ purged }) => `${plural(purged, "event")} purged`,
  });
  const actorOf = useActors();
  return (
    <Page
      title="Audit log"
      about="Every event of this organization, each linked to the one before it. Nothing can be changed unnoticed."
      actions={
        <>
          <Button aria-pressed={live} onClick={() => setLive(!live)}>
            Live
          </Button>
          <Export />
          <Button onClick={() => setPurging(true)}>Purge</Button>
        </>
      }
    >
      <Proof />
      <AuditChart type={search["type"]} />
      <DataTable
        caption="Audit events"
        things="events"
        method={AuthEventsService.method.listAuditEvents}
        input={{ orgUuid, ...(lastDay !== "" && { to: endOf(lastDay) }) }}
        rowKey={({ eventId }) => eventId}
        filters={[
          {
            name: "outcome",
            label: "Outcome",
            values: [
              ["success", "Success"],
              ["failure", "Failure"],
            ],
          },
          personFilter,
          { name: "type", label: "Type", values: [], typed: "login.password" },
          { name: "actor", label: "Actor", values: [] },
          { name: "from", label: "From (UTC)", values: [], isDay: true },
          { name: "last_day", label: "To (UTC)", values: [], isDay: true },
        ]}
        columns={[
          {
            header: "Event",
            cell: ({ eventId, type }) => <Link to={`/console/audit/${eventId}`}>{type}</Link>,
            csv: ({ type }) => type,
          },
          { header: "Outcome", cell: ({ outcome }) => <Status of={outcome} />, csv: ({ outcome }) => outcome },
          { header: "Actor", cell: actorOf, csv: actorOf },
          { header: "IP address", cell: ({ ipAddress }) => ipAddress ?? "–", csv: ({ ipAddress }) => ipAddress },
          { header: "Time", sort: "created_at", time: ({ createdAt }) => createdAt },
        ]}
        empty={{ text: "Nothing has happened yet.", api: `GET /api/organizations/${orgUuid}/audit-events` }}
        {...(live && { refetchMs: 5_000 })}
      />
      <CodeSample http={`GET /api/organizations/${orgUuid}/audit-events?outcome=failure`} />
      <Confirm
        title="Purge old events?"
        about="Events older than the retention period are removed. Their links stay, so that the log can be proved."
        verb="Purge"
        typed={orgName}
        open={purging}
        call={purge}
        onCancel={() => setPurging(false)}
        onConfirm={() => void purge.run({ orgUuid }).then((done) => done && setPurging(false))}
      />
    </Page>
  );
}

/** The midnight that ends a day in UTC. What is no day is returned as it is, for the service to refuse. */
function endOf(day: string): string {
  const end = new Date(day);
  end.setUTCDate(end.getUTCDate() + 1);
  return Number.isNaN(end.getTime()) ? day : end.toISOString();
}
