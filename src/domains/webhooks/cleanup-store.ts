import type { Database } from "../../platform/db/types.ts";

type Statements = Pick<Database, "prepared">;

/** Deliveries that one statement fails or deletes. */
const BATCH = 2_000;
/** Events whose deliveries are deleted together, and events deleted by one statement. */
const EVENTS = 500;

/** A webhook with deliveries to fail or to delete. */
interface Clearing {
  webhookId: string;
  clearing: "fail" | "delete";
  generation: number;
}

/**
 * Ids of a batch of deliveries of earlier generations, locked. A batch never waits for one: the outcomes of several
 * attempts in flight are recorded together, in another order, and would wait for the batch meanwhile. The lock reads
 * the row once more: a delivery that was sent again by hand belongs to the present generation and stays open.
 */
const earlierDeliveries = `select d.delivery_id from webhooks w
  cross join lateral (
    with recursive generations as (
      (select generation from webhook_deliveries
       where webhook_id = w.webhook_id and status = 'pending' and generation < w.generation order by generation limit 1)
      union all
      select (select d.generation from webhook_deliveries d
        where d.webhook_id = w.webhook_id and d.status = 'pending' and d.generation > generations.generation
          and d.generation < w.generation
        order by d.generation limit 1)
      from generations where generations.generation is not null
    )
    select delivery_id from generations join webhook_deliveries d using (generation)
    where d.webhook_id = w.webhook_id and d.status = 'pending' limit ${BATCH} for update of d skip locked
  ) d where w.webhook_id = $1`;

/** Processes one batch of what ended and disabled webhooks have left. Returns whether there may be more. */
export async function cleanUpBatch(database: Statements): Promise<boolean> {
  const [next] = await database.prepared<Clearing>(
    "webhooks-clearing",
    `select webhook_id as "webhookId", clearing, generation from webhooks
     where clearing is not null order by random() limit 1`,
    [],
  );
  if (next === undefined) return false;
  const cleared = await (next.clearing === "delete"
    ? deleteBatch(database, next.webhookId)
    : failBatch(database, next.webhookId));
  return cleared || finish(database, next);
}

async function failBatch(database: Statements, webhookId: string): Promise<boolean> {
  const sql = `update webhook_deliveries set status = 'failed', generation = 0, next_attempt_at = null
    where delivery_id = any(array(${earlierDeliveries})) returning 1 as one`;
  return (await database.prepared("webhooks-fail-some", sql, [webhookId])).length > 0;
}

async function deleteBatch(database: Statements, webhookId: string): Promise<boolean> {
  const sql = `delete from webhook_deliveries where delivery_id = any(array(
    select delivery_id from webhook_deliveries where webhook_id = $1 limit ${BATCH} for update skip locked))
    returning 1 as one`;
  return (await database.prepared("webhooks-delete-some", sql, [webhookId])).length > 0;
}

/** Ends the cleanup of a webhook; false when another delivery came meanwhile, or one is locked. */
async function finish(database: Statements, { webhookId, clearing, generation }: Clearing): Promise<boolean> {
  if (clearing === "delete") {
    const sql = `with deleted as (
        delete from webhooks
        where webhook_id = $1 and not exists (select from webhook_deliveries where webhook_id = $1)
        returning webhook_id),
      tallies as (delete from webhook_tallies t using deleted where t.webhook_id = deleted.webhook_id)
      select 1 as one from deleted`;
    return (await database.prepared("webhooks-cleared-deleted", sql, [webhookId])).length > 0;
  }
  // By the generation that was read before: if the webhook is disabled while this statement waits for it, what it
  // received until then is not seen here.
  const sql = `update webhooks w set clearing = null
    where w.webhook_id = $1 and w.clearing = 'fail' and w.generation = $2 and not exists (
      select from webhook_deliveries d
      where d.webhook_id = $1 and d.status = 'pending' and d.generation < $2) returning 1 as one`;
  return (await database.prepared("webhooks-cleared-failed", sql, [webhookId, generation])).length > 0;
}

/**
 * Deletes a batch of the deliveries, and then of the events, older than `before`; returns how many rows. An event with
 * an open delivery, which was repeated lately, is left until that is settled, and a locked delivery for the next batch.
 */
export async function purgeEvents(database: Statements, before: Date): Promise<number> {
  const old = `select event_id from webhook_events o where created_at < $1 and not exists (
      select from webhook_deliveries d join webhooks w using (webhook_id)
      where d.event_id = o.event_id and d.status = 'pending' and d.generation = w.generation)
    order by created_at limit ${EVENTS}`;
  const deliveries = await database.prepared(
    "webhooks-purge-deliveries",
    `delete from webhook_deliveries where delivery_id = any(array(
       select d.delivery_id from (${old}) e cross join lateral (
         select o.delivery_id from webhook_deliveries o join webhooks w using (webhook_id)
         where o.event_id = e.event_id and (o.status <> 'pending' or o.generation < w.generation)
         limit ${BATCH} for update of o skip locked
       ) d limit ${BATCH})) returning 1 as one`,
    [before],
  );
  if (deliveries.length > 0) return deliveries.length;
  const events = await database.prepared(
    "webhooks-purge-events",
    `delete from webhook_events e where event_id = any(array(${old} for update of o skip locked))
     and not exists (select from webhook_deliveries d where d.event_id = e.event_id) returning 1 as one`,
    [before],
  );
  return events.length;
}

/** Deletes a batch of tallies of hours before that of a time; returns how many. */
export async function purgeTallies(database: Statements, before: Date): Promise<number> {
  const sql = `delete from webhook_tallies t using (
      select webhook_id, hour from webhook_tallies where hour < date_trunc('hour', $1::timestamptz, 'UTC')
      limit ${BATCH} for update skip locked) old
    where t.webhook_id = old.webhook_id and t.hour = old.hour returning 1 as one`;
  return (await database.prepared("webhooks-purge-tallies", sql, [before])).length;
}

/** Marks a batch of webhooks that ended before `before` for deletion; returns how many. */
export async function purgeEnded(database: Statements, before: Date): Promise<number> {
  const sql = `update webhooks set clearing = 'delete' where webhook_id = any(array(
    select webhook_id from webhooks where ended_at < $1 and clearing is distinct from 'delete' limit 500
    )) returning 1 as one`;
  return (await database.prepared("webhooks-purge-ended", sql, [before])).length;
}
