import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import { present } from "../../platform/db/time.ts";
import { boundedCount, totalOf } from "../../platform/db/counting.ts";
import type { Total } from "../../platform/db/counting.ts";
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

/** A page of a list. */
export interface Page {
  limit: number;
  offset: number;
}

/** A webhook as it is shown. */
export type WebhookRow = Pick<Webhook, "webhookId" | "scope" | "appId" | "url" | "events" | "status" | "createdAt">;

/** The webhook of this id; one that has ended too. */
export function webhookOf(em: EntityManager, webhookId: string): Promise<Webhook | null> {
  return em.findOne(Webhook, { webhookId });
}

/** The app whose events a webhook hears, which never changes; undefined for one of an organization. */
export async function appOf(tx: Pick<Tx, "query">, webhookId: string): Promise<string | undefined> {
  const [row] = await tx.query<{ app_id: string | null }>("select app_id from webhooks where webhook_id = $1", [
    webhookId,
  ]);
  return row?.app_id ?? undefined;
}

/** The webhook of this id, its row locked until the transaction ends; one that has ended too. */
export function lockWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** The webhook of this id, kept as it is until the transaction ends; others may keep it at the same time. */
export function keepWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_READ });
}

const seen =
  "from webhooks where ended_at is null and ((scope = 'org' and org_uuid = $1) or (scope = 'app' and app_id = any($2::uuid[])))";

/** Webhooks of an organization and of apps, newest first. */
export async function webhooksOf(
  database: Pick<Database, "prepared">,
  orgUuid: string | null,
  appIds: readonly string[],
  page: Page,
): Promise<{ webhooks: WebhookRow[] } & Total> {
  const [webhooks, counted] = await Promise.all([
    database.prepared<WebhookRow>(
      "webhooks-list",
      `select webhook_id as "webhookId", scope, app_id as "appId", url, events, status, created_at as "createdAt" ${seen}
       order by created_at desc, webhook_id limit $3 offset $4`,
      [orgUuid, appIds, page.limit, page.offset],
    ),
    database.prepared<{ counted: number }>("webhooks-count", boundedCount(seen), [orgUuid, appIds]),
  ]);
  return { webhooks, ...totalOf(counted) };
}

/**
 * Whether an organization has fewer than `most` webhooks. Others that ask for the same organization wait until this
 * transaction ends.
 */
export async function hasRoom(tx: Tx, orgUuid: string, most: number): Promise<boolean> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`webhooks of ${orgUuid}`]);
  const rows = await tx.query("select 1 from webhooks where org_uuid = $1 and ended_at is null limit $2", [
    orgUuid,
    most,
  ]);
  return rows.length < most;
}

/**
 * The webhooks that hear an event, by id, kept until the transaction ends: one that is being deleted or turned off is
 * waited for, and then hears nothing. Several transactions may keep the same ones.
 */
export async function keepListeners(
  tx: Tx,
  type: string,
  orgUuid: string,
  appId: string | undefined,
): Promise<string[]> {
  const rows = await tx.query<{ webhook_id: string }>(
    `select webhook_id from webhooks where status = 'enabled' and events && array[$1, '*']
     and ((scope = 'org' and org_uuid = $2) or (scope = 'app' and app_id = $3)) order by webhook_id for key share`,
    [type, orgUuid, appId ?? null],
  );
  return rows.map((row) => row.webhook_id);
}

const insertEvent = "insert into webhook_events (event_id, type, body, created_at) values ($1, $2, $3, $4)";

/**
 * Stores an event and a delivery for each of these webhooks. Where the endpoint's latest outcome is a failure and it
 * has retries open, the delivery joins them, first due at the next of them (decisions 11.4).
 */
export async function insertForListeners(
  tx: Tx,
  event: { id: string; type: string; body: string; at: Date },
  webhookIds: readonly string[],
  now: Date | null,
): Promise<void> {
  await tx.query(insertEvent, [event.id, event.type, event.body, event.at]);
  await tx.query(
    `insert into webhook_deliveries (delivery_id, event_id, webhook_id, generation, status, queue, next_attempt_at, created_at, traceparent)
     select gen_random_uuid(), $1, w.webhook_id, w.generation, 'pending', case when open.next is null then 'first' else 'retry' end,
       coalesce(open.next, ${present("$5")}), $2, $4
     from webhooks w left join lateral (
       select min(next_attempt_at) as next from webhook_deliveries d
       where w.failing_since is not null and d.webhook_id = w.webhook_id and d.generation = w.generation and d.queue = 'retry'
         and d.status = 'pending'
     ) open on true
     where w.webhook_id = any($3::uuid[])`,
    [event.id, event.at, webhookIds, currentTraceparent() ?? null, now],
  );
}

/** Stores an event for some webhooks, whatever they hear and whether or not they are failing. */
export async function insertAtOnce(
  tx: Tx,
  event: { id: string; type: string; body: string; at: Date },
  deliveries: readonly { webhookId: string; deliveryId: string }[],
  now: Date | null,
): Promise<void> {
  await tx.query(insertEvent, [event.id, event.type, event.body, event.at]);
  await tx.query(
    `insert into webhook_deliveries (delivery_id, event_id, webhook_id, generation, status, queue, next_attempt_at, created_at, traceparent)
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

/**
 * Ends every webhook of an organization: nothing more is heard, and what is open is over. Returns those that were on
 * and hear `type`, and those that had retries open.
 */
export async function endWebhooksOf(
  tx: Tx,
  orgUuid: string,
  type: string,
  at: Date,
): Promise<{ hearing: string[]; retrying: string[] }> {
  const rows = await tx.query<{ webhook_id: string; hears: boolean; retries: boolean }>(
    `select w.webhook_id, w.status = 'enabled' and w.scope = 'org' and w.events && array[$2, '*'] as hears, exists (
       select from webhook_deliveries d
       where d.webhook_id = w.webhook_id and d.generation = w.generation and d.status = 'pending' and d.queue = 'retry'
     ) as retries
     from webhooks w where w.org_uuid = $1 and w.ended_at is null order by w.webhook_id for update of w`,
    [orgUuid, type],
  );
  await tx.query(
    `update webhooks set status = 'disabled', ended_at = $2, updated_at = $2, generation = generation + 1, clearing = 'fail'
     where webhook_id = any($1::uuid[])`,
    [rows.map((row) => row.webhook_id), at],
  );
  return {
    hearing: rows.filter(({ hears }) => hears).map((row) => row.webhook_id),
    retrying: rows.filter(({ retries }) => retries).map((row) => row.webhook_id),
  };
}
