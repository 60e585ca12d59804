import { createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Database, Tx } from "../../platform/db/types.ts";
import { webhooksLock } from "../event-catalogue/index.ts";
import { Webhook } from "./entities.ts";
import type { AppOfWebhook } from "./rules.ts";

/** One attempt, as it is stored in `webhook_deliveries.attempts`. */
export interface AttemptRecord {
  at: string;
  status_code: number | null;
  error: string | null;
  duration_ms: number;
  response: string | null;
}

/** A webhook as the contract shows it. */
export type WebhookRow = Pick<Webhook, "webhookId" | "scope" | "appId" | "url" | "events" | "status" | "createdAt">;

/** The webhook of this id, ended ones included. */
export function webhookOf(em: EntityManager, webhookId: string): Promise<Webhook | null> {
  return em.findOne(Webhook, { webhookId });
}

/** The app of a webhook with the scope `app`, which never changes; undefined for one of an organization. */
export async function appOf(tx: Pick<Tx, "query">, webhookId: string): Promise<AppOfWebhook | undefined> {
  const [row] = await tx.query<AppOfWebhook & Record<string, unknown>>(
    `select app_id as "appId", org_uuid as "orgUuid" from webhooks where webhook_id = $1 and app_id is not null`,
    [webhookId],
  );
  return row;
}

/** The webhook of this id, ended ones included, its row locked until the transaction ends. */
export function lockWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/**
 * Serializes the transactions that may disable a webhook of one organization until they end, before they lock it: each
 * sends its event to the others, and would wait for the one that the other disables. The lock is taken with the next
 * statement.
 * @param isGone whether the endpoint says that it has ended
 * @param failingSince disables webhooks that have been failing since then or earlier
 */
export function lockForDisabling(tx: Tx, webhookId: string, isGone: boolean, failingSince: Date): void {
  tx.defer(
    `select ${webhooksLock("org_uuid")} from webhooks
     where webhook_id = $1 and status = 'enabled' and ($2 or failing_since <= $3)`,
    [webhookId, isGone, failingSince],
  );
}

/** The webhook of this id, its row locked against changes until the transaction ends; the lock is shared. */
export function keepWebhook(tx: Tx, webhookId: string): Promise<Webhook | null> {
  return tx.em.findOne(Webhook, { webhookId }, { lockMode: LockMode.PESSIMISTIC_READ });
}

const manageable = `from webhooks where ended_at is null
  and ((scope = 'org' and org_uuid = $1) or (scope = 'app' and (app_id = any($2::uuid[]) or org_uuid = $3)))`;

/** Whose webhooks a list shows. */
export interface Managed {
  /** The organization whose own webhooks it has. */
  orgUuid: string | null;
  /** The apps whose webhooks it has. */
  appIds: readonly string[];
  /** The organization of whose apps it has every webhook. */
  publisher: string | null;
}

/** Webhooks of an organization and of apps, newest first. */
export function webhooksOf(
  database: Pick<Database, "prepared">,
  { orgUuid, appIds, publisher }: Managed,
  page: Page,
): Promise<Listed<WebhookRow>> {
  const columns = `webhook_id as "webhookId", scope, app_id as "appId", url, events, status, created_at as "createdAt"`;
  const id = { sql: "webhook_id", type: "uuid" } as const;
  const params = [orgUuid, appIds, publisher];
  const list = { name: "webhooks", columns, from: manageable, params, id, q: ["url"] };
  return readList(database, { ...list, sort: { created_at: createdAt() }, order: "-created_at" }, page);
}

/**
 * Counts the webhooks of an organization, and those of its apps among them. Serializes transactions that count for the
 * same organization until they end.
 */
export async function countWebhooks(tx: Tx, orgUuid: string): Promise<{ all: number; ofApps: number }> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`webhooks of ${orgUuid}`]);
  const [counts] = await tx.query<{ all: number; ofApps: number }>(
    `select count(*)::int as "all", (count(*) filter (where scope = 'app'))::int as "ofApps"
     from webhooks where org_uuid = $1 and ended_at is null`,
    [orgUuid],
  );
  return counts ?? { all: 0, ofApps: 0 };
}
