import type { Actor, AuditRecord } from "../audit-record/index.ts";

/** A row of `audit_events`. */
export interface EventRow {
  event_id: string;
  type: string;
  outcome: string;
  user_uuid: string | null;
  org_uuid: string | null;
  ip_address: string;
  user_agent: string;
  metadata: Record<string, unknown>;
  actor: Actor | null;
  resource_type: string | null;
  resource_id: string | null;
  created_at: Date;
}

/** The columns of {@link EventRow}. */
export const columns = `event_id, type, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, actor,
  resource_type, resource_id, created_at`;

/** Maps a row to the record of an event. */
export function toRecord(row: EventRow): AuditRecord {
  return {
    eventId: row.event_id,
    type: row.type,
    outcome: row.outcome,
    userUuid: row.user_uuid,
    orgUuid: row.org_uuid,
    ipAddress: row.ip_address,
    userAgent: row.user_agent,
    metadata: row.metadata,
    actor: row.actor,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    createdAt: row.created_at,
  };
}
