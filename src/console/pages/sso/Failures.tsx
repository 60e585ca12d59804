import { useQuery } from "@connectrpc/connect-query";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { OidcService } from "../../../../gen/atrium/oidc/v1/oidc_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { Time } from "../../widgets/Time.tsx";
import { textOf } from "../../widgets/words.ts";
import { failureWords } from "./presets.ts";
import style from "./Sso.module.css";

/** Why the last sign-ins through a connection failed, from the audit log. */
export function Failures() {
  const orgUuid = useOrg();
  const connections = useQuery(OidcService.method.listConnections, { orgUuid, limit: 50 });
  const names = new Map(connections.data?.data.map(({ connectionUuid, name }) => [connectionUuid, name]));
  const events = useQuery(AuthEventsService.method.listAuditEvents, {
    orgUuid,
    type: "login.oidc",
    outcome: "failure",
    limit: 5,
  });
  return (
    <Section title="Last failures">
      <Answer of={events} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p>No sign-in has failed.</p>
          ) : (
            <ul className={style["failures"]}>
              {data.map(({ eventId, metadata, createdAt, ipAddress }) => (
                <li key={eventId}>
                  <span>{failureWords(textOf(metadata?.["code"]) ?? "unknown")}</span>
                  <small>
                    {names.get(textOf(metadata?.["connection_uuid"]) ?? "") ?? "A former connection"}
                    {` · from ${ipAddress} · `}
                    <Time at={createdAt} />
                  </small>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Section>
  );
}
