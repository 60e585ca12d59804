import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Database, Tx } from "../../platform/db/types.ts";
import { currentTraceparent } from "../../platform/tracing.ts";
import { Webhook } from "./entities.ts";

/** One attempt, as it is kept. */
export interface AttemptRecord {
  at: string;
  status_code: number | null;
  error: string | null;
  duration_ms: number;
  response: string | null;
}

/** A delivery as it is shown. */
export interface DeliveryRow {
  delivery_id: string;
  event_id: string;
  event_type: string;
  status: "pending" | "delivered" | "failed";
  attempts: AttemptRecord[];
  next_attempt_at: Date | null;
  created_at: Date;
}

/** A page of a list. */
export interface Page {
  limit: number;
  offset: number;
}

/** The webhook of this id, its row locked until the transaction ends; one that has ended too. */
export function lockWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** The webhook of this id, kept as it is until the transaction ends; others may keep it at the same time. */
export function keepWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_READ });
}

/** Webhooks of an organization and of apps, newest first. */
export async function webhooksOf(em: EntityManager, orgUuid: string | null, appIds: readonly string[], page: Page): Promise<{ webhooks: Webhook[]; total: number }> {
  const seen = [...(orgUuid === null ? [] : [{ orgUuid, scope: "org" as const }]), { scope: "app" as const, appId: { $in: [...appIds] } }];
  const [webhooks, total] = await em.findAndCount(Webhook, { $or: seen, endedAt: null }, { orderBy: { createdAt: "desc", webhookId: "asc" }, ...page });
  return { webhooks, total };
}

/** Removes a webhook and its deliveries. */
export async function deleteWebhook(tx: Tx, webhookId: string): Promise<void> {
  await tx.query("delete from webhooks where webhook_id = $1", [webhookId]);
}

/**
 * The webhooks that hear an event, by id, kept until the transaction ends: one that is being deleted or turned off is waited
 * for, and then hears nothing. Several transactions may keep the same ones.
 */
export async function keepListeners(tx: Tx, type: string, orgUuid: string, appId: string | undefined): Promise<string[]> {
  const rows = await tx.query<{ webhook_id: string }>(
    `select webhook_id from webhooks where status = 'enabled' and events && array[$1, '*']
     and ((scope = 'org' and org_uuid = $2) or (scope = 'app' and app_id = $3)) order by webhook_id for key share`,
    [type, orgUuid, appId ?? null],
  );
  return rows.map((row) => row.webhook_id);
}

/** Stores an event and a delivery for each of these webhooks; an endpoint that is failing gets it in turn with its retries. */
export async function insertForListeners(tx: Tx, event: { id: string; type: string; body: string; at: Date }, webhookIds: readonly string[]): Promise<void> {
  await tx.query("insert into webhook_events (event_id, type, body, created_at) values ($1, $2, $3, $4)", [event.id, event.type, event.body, event.at]);
  await tx.query(
    `insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, traceparent)
     select gen_random_uuid(), $1, heard.webhook_id, 'pending', case when open.next is null then 'first' else 'retry' end, coalesce(open.next, $2), $2, $4
     from unnest($3::uuid[]) as heard (webhook_id)
     left join lateral (
       select min(next_attempt_at) as next from webhook_deliveries d
       where d.webhook_id = heard.webhook_id and d.queue = 'retry' and d.status = 'pending'
     ) open on true`,
    [event.id, event.at, webhookIds, currentTraceparent() ?? null],
  );
}

/** Stores an event for one webhook, whatever it hears. */
export async function insertForOne(tx: Tx, event: { id: string; type: string; body: string; at: Date }, webhookId: string, deliveryId: string): Promise<void> {
  await tx.query("insert into webhook_events (event_id, type, body, created_at) values ($1, $2, $3, $4)", [event.id, event.type, event.body, event.at]);
  await tx.query(
    "insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, traceparent) values ($1, $2, $3, 'pending', 'first', $4, $4, $5)",
    [deliveryId, event.id, webhookId, event.at, currentTraceparent() ?? null],
  );
}

const shown = "d.delivery_id, d.event_id, e.type as event_type, d.status, d.attempts, d.next_attempt_at, d.created_at";

/** Deliveries of a webhook, newest first. */
export async function deliveriesOf(database: Pick<Database, "prepared">, webhookId: string, status: string | undefined, page: Page): Promise<{ rows: DeliveryRow[]; total: number }> {
  const where = "d.webhook_id = $1 and ($2::text is null or d.status = $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<DeliveryRow>(
      "webhook-deliveries", `select ${shown} from webhook_deliveries d join webhook_events e using (event_id) where ${where} order by d.created_at desc, d.delivery_id limit $3 offset $4`,
      [webhookId, status ?? null, page.limit, page.offset],
    ),
    database.prepared<{ total: number }>("webhook-deliveries-count", `select count(*)::int as total from webhook_deliveries d where ${where}`, [webhookId, status ?? null]),
  ]);
  return { rows, total: counts[0]?.total ?? 0 };
}

/** One delivery of a webhook, its row locked. */
export async function lockDelivery(tx: Tx, webhookId: string, deliveryId: string): Promise<DeliveryRow | undefined> {
  const rows = await tx.query<DeliveryRow>(
    `select ${shown} from webhook_deliveries d join webhook_events e using (event_id) where d.webhook_id = $1 and d.delivery_id = $2 for update of d`, [webhookId, deliveryId],
  );
  return rows[0];
}

/** Begins a delivery's schedule anew. */
export async function reopenDelivery(tx: Tx, deliveryId: string, at: Date): Promise<void> {
  await tx.query("update webhook_deliveries set status = 'pending', queue = 'first', tries = 0, next_attempt_at = $2, leased_until = null, traceparent = $3 where delivery_id = $1", [deliveryId, at, currentTraceparent() ?? null]);
}

/** Fails everything of a webhook that is still open. */
export async function failOpen(tx: Tx, webhookId: string): Promise<void> {
  await tx.query("update webhook_deliveries set status = 'failed', next_attempt_at = null where webhook_id = $1 and status = 'pending'", [webhookId]);
}

/**
 * Ends every webhook of an organization: nothing more is heard, and what was open fails; what this transaction told
 * of the end itself goes out, once. Answers the webhooks that had retries open.
 */
export async function endWebhooksOf(tx: Tx, orgUuid: string, at: Date): Promise<string[]> {
  const ended = await tx.query<{ webhook_id: string }>("select webhook_id from webhooks where org_uuid = $1 and ended_at is null order by webhook_id for update", [orgUuid]);
  const ids = ended.map((row) => row.webhook_id);
  await tx.query("update webhooks set status = 'disabled', ended_at = $2, updated_at = $2 where webhook_id = any($1::uuid[])", [ids, at]);
  const retrying = await tx.query<{ webhook_id: string }>("select distinct webhook_id from webhook_deliveries where webhook_id = any($1::uuid[]) and status = 'pending' and queue = 'retry'", [ids]);
  const fresh = "xmin = pg_current_xact_id()::xid";
  await tx.query(`update webhook_deliveries set status = 'failed', next_attempt_at = null where webhook_id = any($1::uuid[]) and status = 'pending' and not ${fresh}`, [ids]);
  await tx.query(`update webhook_deliveries set queue = 'first', next_attempt_at = $2 where webhook_id = any($1::uuid[]) and status = 'pending' and ${fresh}`, [ids, at]);
  return retrying.map((row) => row.webhook_id);
}
