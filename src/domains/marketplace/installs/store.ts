import { LockMode } from "@mikro-orm/postgresql";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Total } from "../../../platform/db/total.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Page } from "../deps.ts";
import type { CursorPaging } from "../../../platform/cursors.ts";
import { createdAt, readList } from "../../../platform/db/list.ts";
import { Install } from "./entities.ts";
import { LIVE_INSTALL } from "./rules.ts";

/** Which installs a list has. */
export interface InstallFilter {
  orgUuid?: string | undefined;
  appId?: string | undefined;
  status?: string | undefined;
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
  database: Pick<Database, "prepared" | "read">,
  { orgUuid, appId, status }: InstallFilter,
  page: Page,
  paging?: CursorPaging,
): Promise<{ installs: Install[]; nextCursor?: string } & Total> {
  const params: unknown[] = [];
  const clauses = [
    orgUuid === undefined ? "true" : `i.org_uuid = $${params.push(orgUuid)}`,
    appId === undefined ? "true" : `i.app_id = $${params.push(appId)}`,
    status === undefined ? "true" : `i.status = $${params.push(status)}`,
  ];
  const nameOfApp = "(select a.name || ' ' || a.slug from apps a where a.app_id = i.app_id)";
  const id = { sql: "i.install_id", type: "uuid" } as const;
  const from = `from installs i where ${clauses.join(" and ")}`;
  const list = { name: "installs", columns: "i.*", from, params, id, q: [nameOfApp] };
  const { rows, ...total } = await readList<Record<string, unknown>>(
    database,
    { ...list, sort: { created_at: createdAt("i.") }, order: "-created_at" },
    page,
    paging,
  );
  // This reads nothing: the entity manager only maps rows to entities.
  return database.read((em) => Promise.resolve({ installs: rows.map((row) => em.map(Install, row)), ...total }));
}

/** Whether an organization has a live install of an app; under races the partial unique index decides. */
export async function hasLiveInstall(tx: Tx, orgUuid: string, appId: string): Promise<boolean> {
  const rows = await tx.query("select 1 from installs where org_uuid = $1 and app_id = $2 and status = any($3)", [
    orgUuid,
    appId,
    LIVE_INSTALL,
  ]);
  return rows.length > 0;
}

/** Ids of an organization's installs that are not yet being deprovisioned, at most `limit`, in a fixed order. */
export async function liveInstallsOf(
  tx: Pick<Tx, "query">,
  orgUuid: string,
  limit: number,
  lock: "" | "for update" = "",
): Promise<string[]> {
  const rows = await tx.query<{ installId: string }>(
    `select install_id as "installId" from installs
     where org_uuid = $1 and status in ('provisioning', 'active', 'suspended') order by install_id limit $2 ${lock}`,
    [orgUuid, limit],
  );
  return rows.map((row) => row.installId);
}
