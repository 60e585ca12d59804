import type { Tx } from "../../platform/db/types.ts";
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
export async function appendEvent(tx: Tx, eventId: string, at: Date, event: AuditEvent): Promise<void> {
  await tx.query(insertEvent, [
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
