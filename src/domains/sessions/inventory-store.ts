import type { CursorPaging } from "../../platform/cursors.ts";
import { readList } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { SESSION_ORDERS } from "./rules.ts";
import { detach, endTogether } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";
import type { Sight } from "./rules.ts";

/** A live session in an inventory. */
export interface InventoryRow {
  uuid: string;
  userUuid: string;
  deviceUuid: string;
  createdAt: Date;
  lastSeenAt: Date;
  ipAddress: string;
  userAgent: string;
}

/** Filter of an inventory; empty means absent. */
export interface InventoryFilter {
  userUuid?: string | undefined;
  deviceUuid?: string | undefined;
  /** `ended` for sessions that ended in the last 30 days instead of live ones. */
  status?: string | undefined;
}

/** Which sessions a caller reaches: those of an organization, or what they see of a device. */
export type Reach = { orgUuid: string } | ({ deviceUuid: string } & Sight);

const LIVE = "revoked_at is null and expires_at > $1";
/**
 * Ended after a time. A revocation counts whenever it was: one of another instance, or one that this transaction has
 * waited for, may be later than the present time, `$1`.
 */
const endedAfter = (since: string): string =>
  `(revoked_at is not null or expires_at <= $1) and least(revoked_at, expires_at) > ${since}`;
const COLUMNS = `uuid, user_uuid as "userUuid", device_uuid as "deviceUuid", created_at as "createdAt",
  last_seen_at as "lastSeenAt", ip_address as "ipAddress", user_agent as "userAgent"`;

/** SQL and parameters, from `$2` on, of the sessions within reach. */
function within(reach: Reach): { name: string; clause: string; params: unknown[] } {
  if ("orgUuid" in reach) return { name: "org", clause: "org_uuid = $2", params: [reach.orgUuid] };
  return {
    name: "device",
    clause: "device_uuid = $2 and (user_uuid = $3 or org_uuid = $4)",
    params: [reach.deviceUuid, reach.userUuid, reach.adminOf],
  };
}

/** A page of live sessions, last seen first, and their number. */
export async function pageOfSessions(
  database: Database,
  reach: Reach,
  filter: InventoryFilter,
  [at, since]: readonly [at: Date, since: Date],
  page: Page,
  paging?: CursorPaging,
): Promise<{ data: InventoryRow[]; nextCursor?: string } & Total> {
  const { clause, params: reached } = within(reach);
  const params: unknown[] = [at, ...reached];
  const narrow = [
    !filter.userUuid ? "" : ` and user_uuid = $${params.push(filter.userUuid)}`,
    !filter.deviceUuid ? "" : ` and device_uuid = $${params.push(filter.deviceUuid)}`,
  ];
  const status = filter.status === "ended" ? endedAfter(`$${params.push(since)}`) : LIVE;
  const from = `from sessions where ${clause} and ${status}${narrow.join("")}`;
  const id = { sql: "uuid", type: "uuid" } as const;
  const list = { name: "sessions", columns: COLUMNS, from, params, id, q: ["ip_address", "user_agent"] };
  const { rows, ...rest } = await readList<InventoryRow>(
    database,
    { ...list, sort: SESSION_ORDERS, order: "-last_seen_at" },
    page,
    paging,
  );
  return { data: rows, ...rest };
}

/**
 * Locks the organization whose sessions a caller ends, as changes of its members do, before the caller is reauthorized:
 * two callers who end each other's sessions would each hold their own one and wait for the other's. Others who change
 * members or make credentials wait until all have ended.
 */
async function lockReach(tx: Tx, reach: Reach): Promise<void> {
  const orgUuid = "orgUuid" in reach ? reach.orgUuid : reach.adminOf;
  if (orgUuid !== null) await tx.query("select from organizations where uuid = $1 for no key update", [orgUuid]);
}

/** Ends a session within reach; returns its person and organization, undefined when no live one has this id. */
export async function revokeWithin(
  tx: Tx,
  reach: Reach,
  uuid: string,
  reason: string,
  at: Date,
): Promise<{ userUuid: string; orgUuid: string | null } | undefined> {
  const { clause, params } = within(reach);
  const next = params.length + 2;
  await lockReach(tx, reach);
  await tx.reauthorize();
  const rows = await tx.query<{ userUuid: string; orgUuid: string | null }>(
    `update sessions set revoked_at = $1, revoked_reason = $${next + 1}
     where uuid = $${next} and ${clause} and ${LIVE} returning user_uuid as "userUuid", org_uuid as "orgUuid"`,
    [at, ...params, uuid, reason],
  );
  return rows[0];
}

/** Whether a session within reach ended after `since`. */
export async function endedSince(tx: Tx, reach: Reach, uuid: string, at: Date, since: Date): Promise<boolean> {
  const { clause, params } = within(reach);
  const next = params.length + 2;
  const sql = `select 1 from sessions where uuid = $${next} and ${clause} and ${endedAfter(`$${next + 1}`)}`;
  return (await tx.query(sql, [at, ...params, uuid, since])).length > 0;
}

/** Ends every live session within reach but `spared`. */
export async function revokeAllWithin(
  tx: Tx,
  reach: Reach,
  spared: string | null,
  reason: string,
  at: Date,
): Promise<EndedSessions[]> {
  const { clause, params } = within(reach);
  await lockReach(tx, reach);
  if (spared !== null)
    await detach(tx, spared, `exists (select from sessions where uuid = o.uuid and ${clause})`, params);
  const next = params.length + 2;
  const where = `${clause} and ($${next}::uuid is null or uuid <> $${next})`;
  return endTogether(tx, { where, at: "$1", reason: `$${next + 1}` }, [at, ...params, spared, reason]);
}
