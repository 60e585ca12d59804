import type { Database, Tx } from "../../platform/db/types.ts";
import type { AuditEvent } from "./types.ts";

// The event waits to be linked from the moment it can be seen.
const insertEvent = `
  with added as (
    insert into audit_events (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata,
      actor, resource_type, resource_id, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) returning sequence, org_uuid
  )
  insert into audit_pending (org_key, event_sequence)
  select coalesce(org_uuid, '00000000-0000-0000-0000-000000000000'), sequence from added`;

/** Appends an event and queues it for the hash chain. */
export function appendEvent(tx: Tx, eventId: string, at: Date, event: AuditEvent): void {
  tx.defer(insertEvent, [
    eventId,
    event.type,
    event.isAuthentication,
    event.outcome,
    event.userUuid,
    event.orgUuid,
    event.info.address,
    event.info.userAgent,
    JSON.stringify(event.metadata ?? {}),
    event.actor ? JSON.stringify(event.actor) : null,
    event.resource?.type ?? null,
    event.resource?.id ?? null,
    at,
  ]);
}

// As `insertEvent`, for events whose members are given as arrays.
const insertEvents = `
  with added as (
    insert into audit_events (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata,
      actor, resource_type, resource_id, created_at)
    select event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, actor,
      resource_type, resource_id, $13::timestamptz
    from unnest($1::uuid[], $2::text[], $3::boolean[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::text[],
      $9::jsonb[], $10::jsonb[], $11::text[], $12::text[])
      as n (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, actor,
        resource_type, resource_id)
    returning sequence, org_uuid
  )
  insert into audit_pending (org_key, event_sequence)
  select coalesce(org_uuid, '00000000-0000-0000-0000-000000000000'), sequence from added`;

/** Appends events in one statement, and queues them for the hash chain. */
export async function appendEvents(
  database: Pick<Database, "prepared">,
  events: readonly StoredEvent[],
  at: Date,
): Promise<void> {
  await database.prepared("audit-append-all", insertEvents, columnsOf(events, at));
}

/** As {@link appendEvents}, in a transaction. */
export function appendEventsIn(tx: Tx, events: readonly StoredEvent[], at: Date): void {
  tx.defer(insertEvents, columnsOf(events, at));
}

type StoredEvent = AuditEvent & { eventId: string };

function columnsOf(events: readonly StoredEvent[], at: Date): unknown[] {
  const all = <T>(member: (event: StoredEvent) => T): T[] => events.map(member);
  return [
    all(({ eventId }) => eventId),
    all(({ type }) => type),
    all(({ isAuthentication }) => isAuthentication),
    all(({ outcome }) => outcome),
    all(({ userUuid }) => userUuid),
    all(({ orgUuid }) => orgUuid),
    all(({ info }) => info.address),
    all(({ info }) => info.userAgent),
    all(({ metadata }) => JSON.stringify(metadata ?? {})),
    all(({ actor }) => (actor ? JSON.stringify(actor) : null)),
    all(({ resource }) => resource?.type ?? null),
    all(({ resource }) => resource?.id ?? null),
    at,
  ];
}
