import { randomUUID } from "node:crypto";
import { runSql } from "../support/postgres.ts";

/** Changes to the log as only the owner of the database can make them; triggers and rights do not stop a superuser. */
export interface Seed {
  orgUuid: string | null;
  events: number;
  /** Time of the first; the others follow, `everySeconds` apart. */
  from: Date;
  everySeconds?: number;
  userUuid?: string;
  /** JSON text of every event's metadata. */
  metadata?: string;
}

const types = ["login.password", "token.refreshed", "session.revoked", "step_up.failed", "role.assigned"];

/** Writes many events at once, waiting to be linked as if the service had recorded them. */
export async function seedEvents(
  databaseUrl: string,
  { orgUuid, events, from, everySeconds = 1, userUuid = randomUUID(), metadata = "{}" }: Seed,
): Promise<void> {
  await runSql(
    databaseUrl,
    `with added as (
       insert into audit_events (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, created_at)
       select gen_random_uuid(), t.type, t.type <> 'role.assigned', case when n % 10 = 0 then 'failure' else 'success' end, $1::uuid, $2::uuid,
         '192.0.2.7', 'seed', $3::jsonb, $4::timestamptz + n * $5 * interval '1 second'
       from generate_series(0, $6::integer - 1) n, lateral (select ($7::text[])[1 + n % 5] as type) t returning sequence, org_uuid
     ) insert into audit_pending (org_key, event_sequence) select coalesce(org_uuid, '00000000-0000-0000-0000-000000000000'), sequence from added`,
    [userUuid, orgUuid, metadata, from, everySeconds, events, types],
  );
}

/**
 * Writes the totals of an organization's events that are not linked and takes them out of the queue: for lists over
 * more events than linking has time for. Its chain is not provable after that.
 */
export async function countSeeded(databaseUrl: string, orgUuid: string): Promise<void> {
  await runSql(databaseUrl, "delete from audit_pending where org_key = $1", [orgUuid]);
  await runSql(databaseUrl, "delete from audit_counts where org_key = $1", [orgUuid]);
  await runSql(
    databaseUrl,
    "select audit_count((select array_agg(sequence) from audit_events where org_uuid = $1), 1)",
    [orgUuid],
  );
}
