import type { AuditEvent } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { usePeople } from "../members/use-people.ts";

/** What names the actor of an event: their address, or what kind of actor it was. */
export function useActors(): (event: AuditEvent) => string {
  const people = usePeople();
  return ({ actor, userUuid }) => actor?.email ?? people.get(actor?.id ?? userUuid ?? "") ?? actor?.type ?? "–";
}
