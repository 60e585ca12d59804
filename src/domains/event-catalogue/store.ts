import type { Tx } from "../../platform/db/types.ts";
import { present } from "../../platform/db/time.ts";
import { currentTraceparent } from "../../platform/tracing.ts";

/** An event to store. */
export interface StoredEvent {
  id: string;
  type: string;
  body: string;
  at: Date;
}

const insertEvent = "insert into webhook_events (event_id, type, body, created_at) values ($1, $2, $3, $4)";

/**
 * Stores events of one type, each with a delivery for every webhook of its organization, or of the app, that subscribes
 * to it; nothing where none does. The webhooks are kept until the transaction ends: it waits for one that is being
 * deleted or disabled, which then receives nothing. Several transactions may keep the same ones. Where an endpoint's
 * latest outcome is a failure and it has retries open, its delivery joins them, first due at the next of them
 * (decisions 11.4). Calls `stored` when there are deliveries. The SQL is the function `store_subscribed_events`
 * (migration 0124).
 */
export function insertForSubscribers(
  tx: Tx,
  subscribed: { type: string; appId: string | undefined },
  events: readonly (StoredEvent & { orgUuid: string })[],
  at: Date,
  now: Date | null,
  stored: () => void,
): void {
  const { type, appId } = subscribed;
  tx.defer<{ stored: boolean }>(
    `select store_subscribed_events($1, $2, $3, $4, $5, $6, $7, ${present("$8")}) as stored`,
    [
      type,
      events.map(({ orgUuid }) => orgUuid),
      appId ?? null,
      events.map(({ id }) => id),
      events.map(({ body }) => body),
      at,
      currentTraceparent() ?? null,
      now,
    ],
    ([row]) => {
      if (row?.stored === true) stored();
    },
  );
}

/** Stores an event for some webhooks, whatever they subscribe to and whether or not they are failing. */
export async function insertForWebhooks(
  tx: Tx,
  event: StoredEvent,
  deliveries: readonly { webhookId: string; deliveryId: string }[],
  now: Date | null,
): Promise<void> {
  await tx.query(insertEvent, [event.id, event.type, event.body, event.at]);
  await tx.query(
    `insert into webhook_deliveries
       (delivery_id, event_id, webhook_id, generation, status, queue, next_attempt_at, created_at, traceparent)
     select d.delivery_id, $1, w.webhook_id, w.generation, 'pending', 'first', ${present("$6")}, $2, $5
     from unnest($3::uuid[], $4::uuid[]) as d (delivery_id, webhook_id) join webhooks w using (webhook_id)`,
    [
      event.id,
      event.at,
      deliveries.map(({ deliveryId }) => deliveryId),
      deliveries.map(({ webhookId }) => webhookId),
      currentTraceparent() ?? null,
      now,
    ],
  );
}

/** SQL of the lock that serializes the transactions which may disable or end webhooks of one organization. */
export const webhooksLock = (orgUuid: string): string =>
  `pg_advisory_xact_lock(hashtextextended('webhook-disabling:' || ${orgUuid}, 0))`;

/**
 * Serializes the transactions that may disable or end webhooks of one organization until they end, before they lock
 * the first: one that disables a webhook sends its event to the others, and would wait for those that the other ends.
 * The lock is taken with the next statement. A transaction that sends other events to these webhooks first takes this
 * lock before them, because an event keeps the webhooks that receive it.
 */
export function lockWebhooksForEnd(tx: Tx, orgUuid: string): void {
  tx.defer(`select ${webhooksLock("$1::uuid")}`, [orgUuid]);
}

/**
 * Ends every webhook of an organization: it receives nothing more, and its open deliveries fail. Returns those that
 * were enabled and subscribe to `type`, and those that had retries open.
 */
export async function endWebhooksOf(
  tx: Tx,
  orgUuid: string,
  type: string,
  at: Date,
): Promise<{ subscribed: string[]; retrying: string[] }> {
  lockWebhooksForEnd(tx, orgUuid);
  const rows = await tx.query<{ webhook_id: string; subscribed: boolean; retries: boolean }>(
    `select w.webhook_id, w.status = 'enabled' and w.scope = 'org' and w.events && array[$2, '*'] as subscribed,
     exists (
       select from webhook_deliveries d
       where d.webhook_id = w.webhook_id and d.generation = w.generation and d.status = 'pending' and d.queue = 'retry'
     ) as retries
     from webhooks w where w.org_uuid = $1 and w.ended_at is null order by w.webhook_id for update of w`,
    [orgUuid, type],
  );
  await tx.query(
    `update webhooks
     set status = 'disabled', ended_at = $2, updated_at = $2, generation = generation + 1, clearing = 'fail'
     where webhook_id = any($1::uuid[])`,
    [rows.map((row) => row.webhook_id), at],
  );
  return {
    subscribed: rows.filter((row) => row.subscribed).map((row) => row.webhook_id),
    retrying: rows.filter(({ retries }) => retries).map((row) => row.webhook_id),
  };
}
