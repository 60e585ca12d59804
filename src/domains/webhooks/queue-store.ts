import type { Database, Tx } from "../../platform/db/types.ts";
import type { AttemptRecord } from "./store.ts";

/** A delivery in the hands of whoever attempts it. */
export interface TakenDelivery {
  delivery_id: string;
  webhook_id: string;
  event_id: string;
  body: string;
  /** The trace of what caused it. */
  traceparent: string | null;
  url: string;
  secret: Buffer;
  old_secret: Buffer | null;
  old_secret_expires_at: Date | null;
}

/** Hides what is `due` until $1 and reads it. By keys alone, one after another: what a batch costs must not follow the size of the tables. */
const taken = (lease: "leased_until" | "next_attempt_at"): string => `, moved as (
    update webhook_deliveries set ${lease} = $1 where delivery_id = any(array(select delivery_id from due))
    returning delivery_id, webhook_id, event_id, traceparent
  )
  select moved.*, e.body, w.url, w.secret, w.old_secret, w.old_secret_expires_at
  from moved
  cross join lateral (select body from webhook_events where event_id = moved.event_id limit 1) e
  cross join lateral (select url, secret, old_secret, old_secret_expires_at from webhooks where webhook_id = moved.webhook_id limit 1) w`;

/** The webhooks that something of a queue waits for, by id (and a null at the end): one look into the index each, however much that is. */
const waiting = (queue: "first" | "retry", after?: string): string => `waiting as (
       (select webhook_id from webhook_deliveries where status = 'pending' and queue = '${queue}'${after === undefined ? "" : ` and webhook_id > ${after}`} order by webhook_id limit 1)
       union all
       select (select d.webhook_id from webhook_deliveries d where d.status = 'pending' and d.queue = '${queue}' and d.webhook_id > waiting.webhook_id order by d.webhook_id limit 1)
       from waiting where waiting.webhook_id is not null
     )`;

/**
 * Takes first attempts that are due and hides them until `leaseEnd`. An endpoint gets what `allowances` says, one where
 * that says nothing, so a slow one holds up nobody else; those that answer come first. Costs one look into the index for
 * each endpoint that something waits for, however much that is.
 */
export function takeFirst(database: Pick<Database, "prepared">, now: Date, leaseEnd: Date, limit: number, allowances: ReadonlyMap<string, number>): Promise<TakenDelivery[]> {
  return database.prepared<TakenDelivery>(
    "webhooks-take-first",
    `with recursive ${waiting("first")},
     known as (select * from unnest($3::uuid[], $4::int[]) as k(webhook_id, free)),
     hooks as materialized (
       select waiting.webhook_id, coalesce(known.free, 1) as free
       from waiting join webhooks w using (webhook_id) left join known using (webhook_id)
       where coalesce(known.free, 1) > 0
       order by w.failing_since is not null limit $5
     ),
     due as materialized (
       select mine.delivery_id from hooks cross join lateral (
         select delivery_id from webhook_deliveries
         where webhook_id = hooks.webhook_id and status = 'pending' and queue = 'first' and next_attempt_at <= $2 and (leased_until is null or leased_until <= $2)
         order by next_attempt_at limit hooks.free for update skip locked
       ) mine limit $5
     )${taken("leased_until")}`,
    [leaseEnd, now, [...allowances.keys()], [...allowances.values()], limit],
  );
}

/** Takes an endpoint's retries that are due and hides them until `leaseEnd`. */
export function takeRetries(database: Pick<Database, "prepared">, webhookId: string, now: Date, leaseEnd: Date, limit: number): Promise<TakenDelivery[]> {
  return database.prepared<TakenDelivery>(
    "webhooks-take-retries",
    `with due as materialized (
       select delivery_id from webhook_deliveries
       where webhook_id = $3 and status = 'pending' and queue = 'retry' and next_attempt_at <= $2
       order by next_attempt_at limit $4 for update skip locked
     )${taken("next_attempt_at")}`,
    [leaseEnd, now, webhookId, limit],
  );
}

/** Endpoints that a retry is open for, by id, after one of them. */
export async function retriedEndpoints(database: Pick<Database, "prepared">, after: string | null, limit: number): Promise<string[]> {
  const sql = `with recursive ${waiting("retry", "coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')")}
     select webhook_id from waiting where webhook_id is not null limit $2`;
  return (await database.prepared<{ webhook_id: string }>("webhooks-retried", sql, [after, limit])).map((row) => row.webhook_id);
}

const nextRetry = "select min(next_attempt_at) as next from webhook_deliveries where webhook_id = $1 and status = 'pending' and queue = 'retry'";

/** When an endpoint's next retry is due; undefined when none is open. */
export async function nextRetryAt(database: Pick<Database, "prepared">, webhookId: string): Promise<Date | undefined> {
  const [row] = await database.prepared<{ next: Date | null }>("webhooks-next-retry", nextRetry, [webhookId]);
  return row?.next ?? undefined;
}

/** The same in a transaction; with the endpoint locked, nobody is about to add one. */
export async function nextRetryIn(tx: Tx, webhookId: string): Promise<Date | undefined> {
  const [row] = await tx.query<{ next: Date | null }>(nextRetry, [webhookId]);
  return row?.next ?? undefined;
}

/** Notes successes, also of deliveries that were ended meanwhile. Answers those whose endpoint was failing until now. */
export async function markDelivered(database: Pick<Database, "prepared">, delivered: readonly { deliveryId: string; attempt: AttemptRecord }[]): Promise<ReadonlySet<string>> {
  const rows = await database.prepared<{ delivery_id: string }>(
    "webhooks-delivered",
    `with noted as (
       update webhook_deliveries d set status = 'delivered', attempts = d.attempts || ($2::jsonb -> d.delivery_id::text), tries = d.tries + 1, next_attempt_at = null
       where d.delivery_id = any($1::uuid[]) returning d.delivery_id, d.webhook_id
     )
     select noted.delivery_id from noted cross join lateral (select failing_since from webhooks where webhook_id = noted.webhook_id limit 1) w where w.failing_since is not null`,
    [delivered.map(({ deliveryId }) => deliveryId), JSON.stringify(Object.fromEntries(delivered.map(({ deliveryId, attempt }) => [deliveryId, attempt])))],
  );
  return new Set(rows.map((row) => row.delivery_id));
}

/** The endpoint answers again: what waits goes out at once. Answers whether anything waits. */
export async function clearFailing(tx: Tx, webhookId: string, now: Date): Promise<boolean> {
  await tx.query("update webhooks set failing_since = null where webhook_id = $1 and failing_since is not null", [webhookId]);
  const rows = await tx.query("update webhook_deliveries set next_attempt_at = $2 where webhook_id = $1 and status = 'pending' and queue = 'retry' and next_attempt_at > $2 returning 1 as one", [webhookId, now]);
  return rows.length > 0;
}

/** Tries so far of those deliveries that are still open, their rows locked. */
export async function openTries(tx: Tx, deliveryIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.query<{ delivery_id: string; tries: number }>(
    "select delivery_id, tries from webhook_deliveries where delivery_id = any($1::uuid[]) and status = 'pending' order by delivery_id for update", [deliveryIds],
  );
  return new Map(rows.map((row) => [row.delivery_id, row.tries]));
}

/** Notes failed attempts; `nextAt` null ends a delivery. */
export async function markAttemptsFailed(tx: Tx, failed: readonly { deliveryId: string; attempt: AttemptRecord; nextAt: Date | null }[]): Promise<void> {
  await tx.query(
    `update webhook_deliveries d set attempts = d.attempts || f.attempt, tries = d.tries + 1, queue = 'retry', next_attempt_at = f.next_at,
       status = case when f.next_at is null then 'failed' else 'pending' end
     from jsonb_to_recordset($1) as f(delivery_id uuid, attempt jsonb, next_at timestamptz) where d.delivery_id = f.delivery_id`,
    [JSON.stringify(failed.map(({ deliveryId, attempt, nextAt }) => ({ delivery_id: deliveryId, attempt, next_at: nextAt })))],
  );
}

/** Notes failed attempts at deliveries that were settled while they were under way; that they are settled stays. */
export async function appendAttempts(tx: Tx, made: readonly { deliveryId: string; attempt: AttemptRecord }[]): Promise<void> {
  if (made.length === 0) return;
  await tx.query(
    "update webhook_deliveries d set attempts = d.attempts || m.attempt from jsonb_to_recordset($1) as m(delivery_id uuid, attempt jsonb) where d.delivery_id = m.delivery_id",
    [JSON.stringify(made.map(({ deliveryId, attempt }) => ({ delivery_id: deliveryId, attempt })))],
  );
}

/** Removes events older than `before`, and their deliveries; answers how many. */
export async function purgeEvents(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const rows = await database.prepared("webhooks-purge", "delete from webhook_events where event_id in (select event_id from webhook_events where created_at < $1 limit 5000) returning 1 as one", [before]);
  return rows.length;
}

/** Removes webhooks that ended before `before`; answers how many. */
export async function purgeEnded(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const rows = await database.prepared("webhooks-purge-ended", "delete from webhooks where webhook_id in (select webhook_id from webhooks where ended_at < $1 limit 500) returning 1 as one", [before]);
  return rows.length;
}

/** An endpoint with deliveries that are open. */
export interface OpenEndpoint {
  webhook_id: string;
  url: string;
  open: number;
  failing_since: Date | null;
  /** When the first of them is tried next. */
  next: Date;
  /** What the newest failed attempt met. */
  last_error: string | null;
}

/** Endpoints with open deliveries, most first. */
export function openDeliveries(database: Pick<Database, "prepared">, limit: number): Promise<OpenEndpoint[]> {
  return database.prepared<OpenEndpoint>(
    "webhooks-open",
    `select w.webhook_id, w.url, count(*)::int as open, w.failing_since, min(d.next_attempt_at) as next,
       (select coalesce(a.attempts->-1->>'error', 'HTTP ' || (a.attempts->-1->>'status_code'))
        from webhook_deliveries a where a.webhook_id = w.webhook_id and a.status = 'pending' and a.tries > 0 order by a.next_attempt_at limit 1) as last_error
     from webhook_deliveries d join webhooks w using (webhook_id) where d.status = 'pending'
     group by w.webhook_id order by open desc limit $1`,
    [limit],
  );
}
