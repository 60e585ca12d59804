import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import { boundedCount, totalOf } from "../../platform/db/counting.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { App, Install } from "./entities.ts";
import type { TimelineEvent } from "./rules.ts";
import { LIVE_INSTALL } from "./rules.ts";

/** Lines of a timeline that are kept. */
const MOST_LINES = 200;

/** One line of an install's timeline. */
export interface TimelineLine {
  at: Date;
  event: TimelineEvent;
  detail: string;
}

/** Which apps a list shows. */
export interface AppFilter {
  orgUuid?: string | undefined;
  status?: string | undefined;
}

/** Which installs a list shows. */
export interface InstallFilter {
  orgUuid?: string | undefined;
  appId?: string | undefined;
  status?: string | undefined;
}

/** A page of a list. */
export interface Page {
  limit: number;
  offset: number;
}

function given(filter: object): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
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

/** The app of this id. */
export function appById(em: EntityManager, appId: string): Promise<App | null> {
  return em.findOne(App, { appId });
}

/** The app of this slug. */
export function appBySlug(em: EntityManager, slug: string): Promise<App | null> {
  return em.findOne(App, { slug });
}

/**
 * Drafts an organization has, counted up to `most`. Whoever counts them holds up others who do until the transaction
 * ends.
 */
export async function countDrafts(tx: Tx, orgUuid: string, most: number): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('app-drafts:' || $1, 0))", [orgUuid]);
  const sql =
    "select count(*)::int as drafts from (select 1 from apps where org_uuid = $1 and status = 'draft' limit $2) as first_rows";
  return (await tx.query<{ drafts: number }>(sql, [orgUuid, most]))[0]?.drafts ?? 0;
}

/** The app of this slug, which is neither archived nor otherwise changed before the transaction ends. */
export async function keepAppBySlug(tx: Tx, slug: string): Promise<App | null> {
  return tx.em.findOne(App, { slug }, { lockMode: LockMode.PESSIMISTIC_READ });
}

/** Apps by publisher and status, newest first. */
export async function appsWhere(em: EntityManager, filter: AppFilter, page: Page): Promise<{ apps: App[] } & Total> {
  const [apps, total] = await Promise.all([
    em.find(App, given(filter), { orderBy: { createdAt: "desc", appId: "asc" }, ...page }),
    counted(em, "apps", { org_uuid: filter.orgUuid, status: filter.status }, "created_at desc, app_id"),
  ]);
  return { apps, ...total };
}

/** How many rows of a table a list has. In the list's own order, so that the index is read that has it. */
async function counted(
  em: EntityManager,
  table: string,
  filter: Record<string, string | undefined>,
  order: string,
): Promise<Total> {
  const columns = Object.entries(filter).filter(([, value]) => value !== undefined);
  const where = columns.length === 0 ? "" : ` where ${columns.map(([name]) => `${name} = ?`).join(" and ")}`;
  const sql = boundedCount(`from ${table}${where} order by ${order}`);
  return totalOf(
    await em.getConnection().execute<{ counted: number }[]>(
      sql,
      columns.map(([, value]) => value),
    ),
  );
}

/** Ids of an organization's apps that are not archived. */
export async function unarchivedOf(tx: Pick<Tx, "query">, orgUuid: string): Promise<string[]> {
  const sql =
    "select app_id from apps where org_uuid = $1 and status in ('draft', 'published', 'rejected') order by created_at";
  const rows = await tx.query<{ app_id: string }>(sql, [orgUuid]);
  return rows.map((row) => row.app_id);
}

/** Ids of an organization's installs that are neither over nor about to be, at most `limit`. */
export async function liveInstallsOf(tx: Pick<Tx, "query">, orgUuid: string, limit: number): Promise<string[]> {
  const rows = await tx.query<{ install_id: string }>(
    `select install_id from installs where org_uuid = $1 and status in ('provisioning', 'active', 'suspended') order by install_id limit $2`,
    [orgUuid, limit],
  );
  return rows.map((row) => row.install_id);
}

/** The install of this id, its row locked until the transaction ends. */
export function lockInstall(tx: Tx, installId: string): Promise<Install | null> {
  return tx.em.findOne(Install, { installId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** The install of this id. */
export function installById(em: EntityManager, installId: string): Promise<Install | null> {
  return em.findOne(Install, { installId });
}

/** Installs by buyer, app and status, newest first. */
export async function installsWhere(
  em: EntityManager,
  filter: InstallFilter,
  page: Page,
): Promise<{ installs: Install[] } & Total> {
  const columns = { org_uuid: filter.orgUuid, app_id: filter.appId, status: filter.status };
  const [installs, total] = await Promise.all([
    em.find(Install, given(filter), { orderBy: { createdAt: "desc", installId: "asc" }, ...page }),
    counted(em, "installs", columns, "created_at desc, install_id"),
  ]);
  return { installs, ...total };
}

/** Apps by id, for printing installs. */
export async function appsByIds(em: EntityManager, appIds: readonly string[]): Promise<Map<string, App>> {
  const apps = await em.find(App, { appId: { $in: [...new Set(appIds)] } });
  return new Map(apps.map((app) => [app.appId, app]));
}

/** Whether a live install exists; the partial unique index decides under races. */
export async function hasLiveInstall(tx: Tx, orgUuid: string, appId: string): Promise<boolean> {
  const rows = await tx.query("select 1 from installs where org_uuid = $1 and app_id = $2 and status = any($3)", [
    orgUuid,
    appId,
    LIVE_INSTALL,
  ]);
  return rows.length > 0;
}

/** Appends to an install's timeline, of which the newest lines are kept. */
export async function addTimeline(
  tx: Tx,
  installId: string,
  at: Date,
  event: TimelineEvent,
  detail: string,
): Promise<void> {
  const sql = `with line as (insert into install_timeline (install_id, at, event, detail) values ($1, $2, $3, $4))
    delete from install_timeline where install_id = $1 and id <= (
      select id from install_timeline where install_id = $1 order by id desc offset ${MOST_LINES - 1} limit 1)`;
  await tx.query(sql, [installId, at, event, detail.slice(0, 1000)]);
}

/** The install of this id and its timeline, oldest first, as they stood at one moment: one statement reads both. */
export async function installWithTimeline(
  em: EntityManager,
  installId: string,
): Promise<{ install: Install; timeline: TimelineLine[] } | null> {
  const [row] = await em
    .getConnection()
    .execute<{ timeline: { at: string; event: TimelineEvent; detail: string }[] }[]>(
      `select i.*, (select coalesce(json_agg(json_build_object('at', t.at, 'event', t.event, 'detail', t.detail) order by t.id), '[]')
       from install_timeline t where t.install_id = i.install_id) as timeline
     from installs i where i.install_id = ?`,
      [installId],
    );
  if (row === undefined) return null;
  const { timeline, ...install } = row;
  return { install: em.map(Install, install), timeline: timeline.map((line) => ({ ...line, at: new Date(line.at) })) };
}

/** What the newest attempt at a publisher that failed since a time met; undefined where none did. */
export async function lastFailure(tx: Tx, installId: string, since: Date | null): Promise<string | undefined> {
  const rows = await tx.query<{ detail: string }>(
    "select detail from install_timeline where install_id = $1 and event = 'attempt_failed' and at >= $2 order by id desc limit 1",
    [installId, since],
  );
  return rows[0]?.detail;
}

/** Keeps what a publisher reports of a single-tenant install's place in the cloud (decisions 9.7). */
export async function keepCloudTarget(
  tx: Tx,
  targetId: string,
  install: Install,
  target: { provider: string; region: string } | undefined,
  at: Date,
): Promise<void> {
  if (target === undefined || install.deploymentMode !== "single_tenant") return;
  await tx.query(
    "insert into cloud_targets (target_id, install_id, org_uuid, provider, region, status, created_at) values ($1, $2, $3, $4, $5, 'active', $6) on conflict (install_id) do nothing",
    [targetId, install.installId, install.orgUuid, target.provider, target.region, at],
  );
}

/** An install that is under way for long. */
export interface StuckInstall {
  install_id: string;
  slug: string;
  status: string;
  since: Date;
  /** Newest line of its timeline. */
  last: string | null;
}

/** Installs whose publisher was asked for something before `before` and has not settled it, oldest first. */
export function stuckInstalls(
  database: Pick<Database, "prepared">,
  before: Date,
  limit: number,
): Promise<StuckInstall[]> {
  return database.prepared<StuckInstall>(
    "installs-stuck",
    `select i.install_id, a.slug, i.status, i.step_since as since,
       (select t.event || ': ' || t.detail from install_timeline t where t.install_id = i.install_id order by t.id desc limit 1) as last
     from installs i join apps a using (app_id) where i.step is not null and i.step_since < $1 order by i.step_since limit $2`,
    [before, limit],
  );
}

/**
 * Installs whose publisher was asked for something before `before` and has not settled it, by id, after one of them.
 */
export async function pendingInstalls(
  database: Pick<Database, "prepared">,
  before: Date,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql =
    "select install_id from installs where step is not null and step_since < $1 and install_id > coalesce($2::uuid, '00000000-0000-0000-0000-000000000000') order by install_id limit $3";
  return (await database.prepared<{ install_id: string }>("installs-pending", sql, [before, after, limit])).map(
    (row) => row.install_id,
  );
}
