import type { Database } from "../../platform/db/types.ts";
import { DELIVERY_COLUMNS } from "./delivery-store.ts";
import type { DeliveryRow } from "./delivery-store.ts";

type Watching = Pick<Database, "watching">;

/** How long changes are noted for a webhook that nobody asks for again. */
const WATCHED = "interval '60 seconds'";

/** Has changes of webhooks noted for the next minute. Returns those of them that exist. */
export async function watchWebhooks(database: Watching, webhookIds: readonly string[]): Promise<string[]> {
  const sql = `insert into webhook_watches as w (webhook_id, until)
    select webhook_id, statement_timestamp() + ${WATCHED} from webhooks
    where webhook_id = any($1::uuid[]) and ended_at is null order by webhook_id
    on conflict (webhook_id) do update set until = greatest(w.until, excluded.until)
    returning webhook_id as "webhookId"`;
  const rows = await database.watching<{ webhookId: string }>("webhook-watches", sql, [webhookIds]);
  return rows.map(({ webhookId }) => webhookId);
}

/** A snapshot of what is committed now. */
export async function presentSnapshot(database: Watching): Promise<string> {
  const sql = "select pg_current_snapshot()::text as snapshot";
  const [row] = await database.watching<{ snapshot: string }>("webhook-snapshot", sql, []);
  if (row === undefined) throw new Error("the database returned no snapshot");
  return row.snapshot;
}

/** Deliveries of webhooks whose changes were committed after a snapshot, and the snapshot of this reading. */
export async function changesSince(
  database: Watching,
  webhookIds: readonly string[],
  snapshot: string,
): Promise<{ deliveryIds: string[]; snapshot: string }> {
  const sql = `select pg_current_snapshot()::text as snapshot, coalesce(array_agg(c.delivery_id), '{}') as "deliveryIds"
    from unnest($1::uuid[]) as w (webhook_id)
    join webhook_changes c on c.webhook_id = w.webhook_id and c.xid >= pg_snapshot_xmin($2::pg_snapshot)
      and not pg_visible_in_snapshot(c.xid, $2::pg_snapshot)`;
  const [row] = await database.watching<{ deliveryIds: string[]; snapshot: string }>("webhook-changes", sql, [
    webhookIds,
    snapshot,
  ]);
  if (row === undefined) throw new Error("the database returned no snapshot");
  return row;
}

/** Deliveries by id, with their webhooks. */
export function deliveriesById(
  database: Watching,
  deliveryIds: readonly string[],
): Promise<(DeliveryRow & { webhookId: string })[]> {
  const sql = `select ${DELIVERY_COLUMNS}, d.webhook_id as "webhookId"
    from webhook_deliveries d join webhooks w using (webhook_id) join webhook_events e using (event_id)
    where d.delivery_id = any($1::uuid[]) order by d.created_at, d.delivery_id`;
  return database.watching<DeliveryRow & { webhookId: string }>("webhook-changed", sql, [deliveryIds]);
}

/** Deletes what was noted more than ten minutes ago and not again meanwhile. Returns the number of rows. */
export async function purgeChanges(database: Pick<Database, "prepared">, limit: number): Promise<number> {
  const old = "statement_timestamp() - interval '10 minutes'";
  const sql = `with watches as (delete from webhook_watches where until < ${old}),
      changes as (
        delete from webhook_changes where delivery_id = any(array(
          select delivery_id from webhook_changes where at < ${old} limit $1 for update skip locked)) returning 1)
    select count(*)::int as purged from changes`;
  return (await database.prepared<{ purged: number }>("webhook-changes-purge", sql, [limit]))[0]?.purged ?? 0;
}
