import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Total } from "../../../platform/db/total.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Page } from "../deps.ts";
import { byText, createdAt, readList } from "../../../platform/db/list.ts";
import { App } from "./entities.ts";

/** Which apps a list has. */
export interface AppFilter {
  orgUuid?: string | undefined;
  status?: string | undefined;
}

/** Claims a slug for good; false when it is or was in use. */
export async function claimSlug(tx: Tx, slug: string): Promise<boolean> {
  const rows = await tx.query("insert into app_slugs (slug) values ($1) on conflict do nothing returning slug", [slug]);
  return rows.length === 1;
}

/** The app of this id, its row locked until the transaction ends. */
export function lockApp(tx: Tx, appId: string): Promise<App | null> {
  return tx.em.findOne(App, { appId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** The organization that publishes an app, which never changes; undefined for an unknown app. */
export async function publisherOf(tx: Pick<Tx, "query">, appId: string): Promise<string | undefined> {
  const sql = `select org_uuid as "orgUuid" from apps where app_id = $1`;
  return (await tx.query<{ orgUuid: string }>(sql, [appId]))[0]?.orgUuid;
}

/** The app of this id, its row locked against changes until the transaction ends. */
export function keepApp(tx: Tx, appId: string): Promise<App | null> {
  return tx.em.findOne(App, { appId }, { lockMode: LockMode.PESSIMISTIC_READ });
}

/** The app of this slug, its row locked against changes until the transaction ends. */
export async function keepAppBySlug(tx: Tx, slug: string): Promise<App | null> {
  return tx.em.findOne(App, { slug }, { lockMode: LockMode.PESSIMISTIC_READ });
}

/** The app of this id. */
export function appById(em: EntityManager, appId: string): Promise<App | null> {
  return em.findOne(App, { appId });
}

/** The app of this slug. */
export function appBySlug(em: EntityManager, slug: string): Promise<App | null> {
  return em.findOne(App, { slug });
}

/** Apps by id. */
export async function appsByIds(em: EntityManager, appIds: readonly string[]): Promise<Map<string, App>> {
  const apps = await em.find(App, { appId: { $in: [...new Set(appIds)] } });
  return new Map(apps.map((app) => [app.appId, app]));
}

/**
 * Counts an organization's drafts, up to `most`. Serializes transactions that count the same organization's drafts
 * until they end.
 */
export async function countDrafts(tx: Tx, orgUuid: string, most: number): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('app-drafts:' || $1, 0))", [orgUuid]);
  const rows = await tx.query("select 1 from apps where org_uuid = $1 and status = 'draft' limit $2", [orgUuid, most]);
  return rows.length;
}

/** Apps by publisher and status, newest first. */
export async function appsWhere(
  database: Pick<Database, "prepared" | "read">,
  { orgUuid, status }: AppFilter,
  page: Page,
): Promise<{ apps: App[] } & Total> {
  const params: unknown[] = [];
  const clauses = [
    orgUuid === undefined ? "true" : `org_uuid = $${params.push(orgUuid)}`,
    status === undefined ? "true" : `status = $${params.push(status)}`,
  ];
  const id = { sql: "app_id", type: "uuid" } as const;
  const from = `from apps where ${clauses.join(" and ")}`;
  const list = { name: "apps", columns: "apps.*", from, params, id, q: ["name", "slug"] };
  const sort = { created_at: createdAt(), name: byText("name") };
  const { rows, ...total } = await readList<Record<string, unknown>>(
    database,
    { ...list, sort, order: "-created_at" },
    page,
  );
  // This reads nothing: the entity manager only maps rows to entities.
  return database.read((em) => Promise.resolve({ apps: rows.map((row) => em.map(App, row)), ...total }));
}

/** Ids of an organization's apps that are not archived, locked until the transaction ends. */
export async function lockUnarchivedApps(tx: Pick<Tx, "query">, orgUuid: string): Promise<string[]> {
  const rows = await tx.query<{ appId: string }>(
    `select app_id as "appId" from apps
     where org_uuid = $1 and status in ('draft', 'published', 'rejected') order by created_at for update`,
    [orgUuid],
  );
  return rows.map((row) => row.appId);
}
