import { rowsOf } from "../../platform/db/rows.ts";
import type { Source } from "../../platform/db/rows.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { present, presentPlus } from "../../platform/db/time.ts";
import { NIL_UUID, waitingFor } from "./places-store.ts";
import type { AttemptRecord } from "./store.ts";

/** Attempts of a delivery that are kept, the newest. */
const MAX_ATTEMPTS = 50;

/** SQL of a delivery's attempts with one more. */
const withAttempt = (attempt: string): string =>
  `jsonb_path_query_array(d.attempts || ${attempt}, '$[last - ${MAX_ATTEMPTS - 1} to last]')`;

/** Ids of endpoints with open retries, in order, after one of them. */
export async function retriedEndpoints(
  database: Pick<Database, "prepared">,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql = `with recursive ${waitingFor("retry", "coalesce($1::uuid, '" + NIL_UUID + "')")}
     select webhook_id from waiting join webhooks w using (webhook_id)
     where exists (
       select from webhook_deliveries d
       where d.webhook_id = w.webhook_id and d.generation = w.generation and d.status = 'pending' and d.queue = 'retry'
     ) limit $2`;
  return (await database.prepared<{ webhook_id: string }>("webhooks-retried", sql, [after, limit])).map(
    (row) => row.webhook_id,
  );
}

/** The next retry of an endpoint. */
export interface NextRetry {
  orgUuid: string;
  /** Milliseconds until it is due; not positive for one that is. */
  waitMs: number;
}

const nextRetry = `select w.org_uuid as "orgUuid",
    extract(epoch from d.next_attempt_at - ${present("$2")})::double precision * 1000 as "waitMs"
  from webhooks w cross join lateral (
    select next_attempt_at from webhook_deliveries
    where webhook_id = w.webhook_id and generation = w.generation and status = 'pending' and queue = 'retry'
    order by next_attempt_at limit 1
  ) d where w.webhook_id = $1`;

/** The next retry of an endpoint; undefined when none is open. */
export async function nextRetryOf(source: Source, webhookId: string, now: Date | null): Promise<NextRetry | undefined> {
  return (await rowsOf<NextRetry>(source, "webhooks-next-retry", nextRetry, [webhookId, now]))[0];
}

/**
 * Records successes, also of deliveries that have ended meanwhile. Returns those whose endpoint was failing until now.
 */
export async function markDelivered(
  database: Pick<Database, "prepared">,
  delivered: readonly { deliveryId: string; attempt: AttemptRecord }[],
): Promise<ReadonlySet<string>> {
  const rows = await database.prepared<{ deliveryId: string }>(
    "webhooks-delivered",
    `with noted as (
       update webhook_deliveries d
       set status = 'delivered', generation = 0, tries = d.tries + 1, next_attempt_at = null,
         attempts = ${withAttempt("($2::jsonb -> d.delivery_id::text)")}
       where d.delivery_id = any($1::uuid[]) returning d.delivery_id, d.webhook_id
     )
     select noted.delivery_id as "deliveryId" from noted cross join lateral (
       select failing_since from webhooks where webhook_id = noted.webhook_id limit 1) w
     where w.failing_since is not null`,
    [
      delivered.map(({ deliveryId }) => deliveryId),
      JSON.stringify(Object.fromEntries(delivered.map(({ deliveryId, attempt }) => [deliveryId, attempt]))),
    ],
  );
  return new Set(rows.map((row) => row.deliveryId));
}

/** Retries that one statement makes due. */
const FORWARD_BATCH = 5_000;

/**
 * Makes the open retries of an endpoint, whose row is locked, due at once or when their `not_before` is over, except
 * some; at most 5,000 deliveries. Their schedules are kept: only the first attempt at a delivery is a step of its own.
 * Returns how many, and whether there are more; when there are none, the endpoint no longer counts as failing.
 */
export async function bringForward(
  tx: Tx,
  webhookId: string,
  except: readonly string[],
  now: Date | null,
): Promise<{ brought: number; more: boolean }> {
  const rows = await tx.query(
    `update webhook_deliveries set next_attempt_at = greatest(${present("$2")}, not_before),
       scheduled_at = case when tries > 0 then coalesce(scheduled_at, next_attempt_at) end
     where delivery_id = any(array(
       select d.delivery_id from webhooks w cross join lateral (
         select delivery_id from webhook_deliveries
         where webhook_id = w.webhook_id and generation = w.generation and status = 'pending' and queue = 'retry'
           and next_attempt_at > ${present("$2")} and next_attempt_at > greatest(${present("$2")}, not_before)
           and delivery_id <> all($3::uuid[])
         order by next_attempt_at limit ${FORWARD_BATCH} for update
       ) d where w.webhook_id = $1
     )) returning 1 as one`,
    [webhookId, now, except],
  );
  const more = rows.length === FORWARD_BATCH;
  if (!more)
    await tx.query("update webhooks set failing_since = null where webhook_id = $1 and failing_since is not null", [
      webhookId,
    ]);
  return { brought: rows.length, more };
}

/** A failed attempt at a delivery as it was leased. */
export interface FailedAttempt {
  deliveryId: string;
  generation: number;
  tries: number;
}

/** Where an open delivery stands in its schedule. */
export interface Standing {
  /** Steps of the schedule that were attempted. */
  steps: number;
  /** Milliseconds until the schedule has the next attempt; null unless the present one was made earlier than that. */
  scheduledInMs: number | null;
}

/**
 * Attempts among `tries` that were no step of the schedule. An instance of an earlier version that restarts a schedule
 * sets `tries` to 0 and nothing else of it.
 */
const EXTRA_TRIES = "least(extra_tries, tries)";

/** The deliveries that have not changed since they were leased, by id; locks their rows. */
export async function stillOpen(
  tx: Tx,
  attempts: readonly FailedAttempt[],
  generation: number | undefined,
  now: Date | null,
): Promise<ReadonlyMap<string, Standing>> {
  const rows = await tx.query<{ deliveryId: string; tries: number } & Standing>(
    `select delivery_id as "deliveryId", tries, tries - ${EXTRA_TRIES} as steps,
       case when tries > 0 and scheduled_at > ${present("$3")}
         then extract(epoch from scheduled_at - ${present("$3")})::double precision * 1000 end as "scheduledInMs"
     from webhook_deliveries
     where delivery_id = any($1::uuid[]) and status = 'pending' and generation = $2 order by delivery_id for update`,
    [attempts.map(({ deliveryId }) => deliveryId), generation ?? -1, now],
  );
  const tries = new Map(attempts.map((one) => [one.deliveryId, one.generation === generation ? one.tries : -1]));
  return new Map(rows.filter((row) => row.tries === tries.get(row.deliveryId)).map((row) => [row.deliveryId, row]));
}

/** A failed attempt to record. */
export interface RecordedFailure {
  deliveryId: string;
  attempt: AttemptRecord;
  /** Until the next attempt; null: the delivery has failed. */
  waitMs: number | null;
  /** For how long a success at another delivery makes this one not due; null for a step of the schedule. */
  pauseMs: number | null;
}

/** Records failed attempts. */
export async function markAttemptsFailed(tx: Tx, failed: readonly RecordedFailure[], now: Date | null): Promise<void> {
  await tx.query(
    `update webhook_deliveries d set attempts = ${withAttempt("f.attempt")}, tries = d.tries + 1, queue = 'retry',
       extra_tries = ${EXTRA_TRIES} + case when f.pause_ms is null then 0 else 1 end, scheduled_at = null,
       next_attempt_at = ${presentPlus("$2", "f.wait_ms")}, not_before = ${presentPlus("$2", "f.pause_ms")},
       status = case when f.wait_ms is null then 'failed' else 'pending' end,
       generation = case when f.wait_ms is null then 0 else d.generation end
     from jsonb_to_recordset($1) as f(
       delivery_id uuid, attempt jsonb, wait_ms double precision, pause_ms double precision)
     where d.delivery_id = f.delivery_id`,
    [
      JSON.stringify(
        failed.map(({ deliveryId, attempt, waitMs, pauseMs }) => ({
          delivery_id: deliveryId,
          attempt,
          wait_ms: waitMs,
          pause_ms: pauseMs,
        })),
      ),
      now,
    ],
  );
}

/**
 * Records failed attempts at deliveries that were settled or repeated meanwhile, and changes nothing else of them.
 */
export async function appendAttempts(
  tx: Tx,
  made: readonly { deliveryId: string; attempt: AttemptRecord }[],
): Promise<void> {
  if (made.length === 0) return;
  await tx.query(
    `update webhook_deliveries d set attempts = ${withAttempt("m.attempt")}
     from jsonb_to_recordset($1) as m(delivery_id uuid, attempt jsonb) where d.delivery_id = m.delivery_id`,
    [JSON.stringify(made.map(({ deliveryId, attempt }) => ({ delivery_id: deliveryId, attempt })))],
  );
}

/** An endpoint with open deliveries. */
export interface OpenEndpoint {
  webhookId: string;
  url: string;
  /** Counted up to 10,000. */
  open: number;
  failingSince: Date | null;
  /** Time of the next attempt. */
  next: Date;
  /** Error or status code of the newest failed attempt. */
  lastError: string | null;
}

/** Endpoints with open deliveries, most first. */
export function openDeliveries(database: Pick<Database, "prepared">, limit: number): Promise<OpenEndpoint[]> {
  return database.prepared<OpenEndpoint>(
    "webhooks-open",
    `with recursive ${waitingFor("first", `'${NIL_UUID}'::uuid`)},
     retried as (
       select webhook_id from (
         with recursive ${waitingFor("retry", `'${NIL_UUID}'::uuid`)} select webhook_id from waiting) r)
     select w.webhook_id as "webhookId", w.url, o.open, w.failing_since as "failingSince", o.next,
       (select coalesce(a.attempts->-1->>'error', 'HTTP ' || (a.attempts->-1->>'status_code'))
        from webhook_deliveries a
        where a.webhook_id = w.webhook_id and a.generation = w.generation and a.status = 'pending'
          and a.queue = 'retry' and a.tries > 0
        order by a.next_attempt_at limit 1) as "lastError"
     from (select webhook_id from waiting union select webhook_id from retried) known
     join webhooks w using (webhook_id)
     cross join lateral (
       select count(*)::int as open, min(next_attempt_at) as next from (
         select next_attempt_at from webhook_deliveries d
         where d.webhook_id = w.webhook_id and d.generation = w.generation and d.status = 'pending' limit 10000
       ) some_of_them
     ) o where o.open > 0 order by o.open desc limit $1`,
    [limit],
  );
}
