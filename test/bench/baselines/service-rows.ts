/** Rows of the service's own schema that several baselines insert. */
import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { pool } from "./transactions.ts";

/** An event of the audit log, as {@link insertEvent} takes it. */
export interface BareEvent {
  readonly type: string;
  readonly org: string;
  readonly user: string | null;
  readonly metadata: object;
  readonly actor: object;
  readonly resource: { readonly type: string; readonly id: string };
  readonly at: Date;
}

/** Inserts organizations, and resolves to their UUIDs. */
export async function insertOrganizations(count: number): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID());
  await pool.query(
    `insert into organizations (uuid, name, created_at, updated_at)
      select uuid, 'Bare ' || uuid, now(), now() from unnest($1::uuid[]) as o (uuid)`,
    [uuids],
  );
  return uuids;
}

/** Inserts an event and its place in the chain. */
export async function insertEvent(client: PoolClient, event: BareEvent): Promise<void> {
  await client.query({
    name: "event",
    text: `with added as (
        insert into audit_events (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent,
          metadata, actor, resource_type, resource_id, created_at)
        values ($1, $2, false, 'success', $3, $4, '127.0.0.1', 'bench', $5, $6, $7, $8, $9)
        returning sequence, org_uuid
      ) insert into audit_pending (org_key, event_sequence) select org_uuid, sequence from added`,
    values: [
      randomUUID(),
      event.type,
      event.user,
      event.org,
      JSON.stringify(event.metadata),
      JSON.stringify(event.actor),
      event.resource.type,
      event.resource.id,
      event.at,
    ],
  });
}
