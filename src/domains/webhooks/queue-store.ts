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

const taken = `
  update webhook_deliveries d set next_attempt_at = $1
  from due, webhooks w, webhook_events e
  where d.delivery_id = due.delivery_id and w.webhook_id = d.webhook_id and e.event_id = d.event_id
  returning d.delivery_id, d.webhook_id, d.event_id, d.traceparent, e.body, w.url, w.secret, w.old_secret, w.old_secret_expires_at`;

/**
 * Takes first attempts that are due and hides them until `leaseEnd`. An endpoint gets at most `cap` less what runs
 * already, so a slow one holds up nobody else.
 */
export function takeFirst(database: Pick<Database, "prepared">, now: Date, leaseEnd: Date, limit: number, cap: number, running: ReadonlyMap<string, number>): Promise<TakenDelivery[]> {
  return database.prepared<TakenDelivery>(
    "webhooks-take-first",
    `with busy as (select * from unnest($3::uuid[], $4::int[]) as b(webhook_id, running)),
     hooks as (
       select h.webhook_id, $5 - coalesce(busy.running, 0) as free
       from (select distinct webhook_id from webhook_deliveries where status = 'pending' and queue = 'first' and next_attempt_at <= $2) h
       left join busy using (webhook_id)
       where coalesce(busy.running, 0) < $5
     ),
     due as materialized (
       select mine.delivery_id from hooks cross join lateral (
         select delivery_id from webhook_deliveries
         where webhook_id = hooks.webhook_id and status = 'pending' and queue = 'first' and next_attempt_at <= $2
         order by next_attempt_at limit hooks.free for update skip locked
       ) mine limit $6
     ) ${taken}`,
    [leaseEnd, now, [...running.keys()], [...running.values()], cap, limit],
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
     ) ${taken}`,
    [leaseEnd, now, webhookId, limit],
  );
}

/** When an endpoint's next retry is due; undefined when none is open. */
export async function nextRetryAt(database: Pick<Database, "prepared">, webhookId: string): Promise<Date | undefined> {
  const rows = await database.prepared<{ next: Date | null }>(
    "webhooks-next-retry", "select min(next_attempt_at) as next from webhook_deliveries where webhook_id = $1 and status = 'pending' and queue = 'retry'", [webhookId],
  );
  return rows[0]?.next ?? undefined;
}

/** Notes a success of a delivery that is still open; one that was ended meanwhile only gets the attempt noted. */
export async function markDelivered(database: Pick<Database, "prepared">, deliveryId: string, attempt: AttemptRecord): Promise<void> {
  await database.prepared(
    "webhooks-delivered", "update webhook_deliveries set status = 'delivered', attempts = attempts || $2::jsonb, tries = tries + 1, next_attempt_at = null where delivery_id = $1 returning 1 as one",
    [deliveryId, JSON.stringify(attempt)],
  );
}

/** The endpoint answers again: what waits goes out at once. Answers whether anything waits. */
export async function clearFailing(tx: Tx, webhookId: string, now: Date): Promise<boolean> {
  await tx.query("update webhooks set failing_since = null where webhook_id = $1 and failing_since is not null", [webhookId]);
  const rows = await tx.query("update webhook_deliveries set next_attempt_at = $2 where webhook_id = $1 and status = 'pending' and queue = 'retry' and next_attempt_at > $2 returning 1 as one", [webhookId, now]);
  return rows.length > 0;
}

/** Whether an endpoint is failing, as the row says now. */
export async function isFailing(database: Pick<Database, "prepared">, webhookId: string): Promise<boolean> {
  const rows = await database.prepared("webhooks-failing", "select 1 from webhooks where webhook_id = $1 and failing_since is not null", [webhookId]);
  return rows.length > 0;
}

/** Tries so far of a delivery that is still open, its row locked; undefined when it is not. */
export async function openTries(tx: Tx, deliveryId: string): Promise<number | undefined> {
  const rows = await tx.query<{ tries: number }>("select tries from webhook_deliveries where delivery_id = $1 and status = 'pending' for update", [deliveryId]);
  return rows[0]?.tries;
}

/** Notes a failed attempt; `nextAt` null ends the delivery. */
export async function markAttemptFailed(tx: Tx, deliveryId: string, attempt: AttemptRecord, nextAt: Date | null): Promise<void> {
  await tx.query(
    `update webhook_deliveries set attempts = attempts || $2::jsonb, tries = tries + 1, queue = 'retry', next_attempt_at = $3,
       status = case when $3::timestamptz is null then 'failed' else 'pending' end
     where delivery_id = $1`,
    [deliveryId, JSON.stringify(attempt), nextAt],
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
