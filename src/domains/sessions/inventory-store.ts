import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { detach, endTogether } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";
import type { Sight } from "./rules.ts";

/** A live session in an inventory. */
export interface InventoryRow {
  uuid: string;
  user_uuid: string;
  device_uuid: string;
  created_at: Date;
  last_seen_at: Date;
  ip_address: string;
  user_agent: string;
}

/** Filter of an inventory; empty means absent. */
export interface InventoryFilter {
  userUuid?: string | undefined;
  deviceUuid?: string | undefined;
}

/** Which sessions a caller reaches: those of an organization, or what they see of a device. */
export type Reach = { orgUuid: string } | ({ deviceUuid: string } & Sight);

const LIVE = "revoked_at is null and expires_at > $1";
const COLUMNS = "uuid, user_uuid, device_uuid, created_at, last_seen_at, ip_address, user_agent";

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
  at: Date,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ data: InventoryRow[] } & Total> {
  const { name, clause, params } = within(reach);
  const bound: unknown[] = [at, ...params];
  const narrow = [
    !filter.userUuid ? "" : ` and user_uuid = $${bound.push(filter.userUuid)}`,
    !filter.deviceUuid ? "" : ` and device_uuid = $${bound.push(filter.deviceUuid)}`,
  ];
  const shape = `${name}_${narrow.map((one) => (one === "" ? "0" : "1")).join("")}`;
  const from = `from sessions where ${clause} and ${LIVE}${narrow.join("")}`;
  const [data, counted] = await Promise.all([
    database.prepared<InventoryRow>(
      `sessions_inventory_${shape}`,
      `select ${COLUMNS} ${from} order by last_seen_at desc, created_at desc, uuid
       limit $${bound.length + 1} offset $${bound.length + 2}`,
      [...bound, limit, offset],
    ),
    database.prepared<{ counted: number }>(`sessions_inventory_count_${shape}`, boundedCount(from), bound),
  ]);
  return { data, ...totalOf(counted) };
}

/** Ends a session within reach; returns its person and organization, undefined when no live one has this id. */
export async function revokeWithin(
  tx: Tx,
  reach: Reach,
  uuid: string,
  reason: string,
  at: Date,
): Promise<{ user_uuid: string; org_uuid: string | null } | undefined> {
  const { clause, params } = within(reach);
  const next = params.length + 2;
  await tx.reauthorize();
  const rows = await tx.query<{ user_uuid: string; org_uuid: string | null }>(
    `update sessions set revoked_at = $1, revoked_reason = $${next + 1}
     where uuid = $${next} and ${clause} and ${LIVE} returning user_uuid, org_uuid`,
    [at, ...params, uuid, reason],
  );
  return rows[0];
}

/** Whether a session within reach ended after `since`. */
export async function endedSince(tx: Tx, reach: Reach, uuid: string, at: Date, since: Date): Promise<boolean> {
  const { clause, params } = within(reach);
  const next = params.length + 2;
  const sql = `select 1 from sessions where uuid = $${next} and ${clause}
    and least(revoked_at, expires_at) <= $1 and least(revoked_at, expires_at) > $${next + 1}`;
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
  if (spared !== null)
    await detach(tx, spared, `exists (select from sessions where uuid = o.uuid and ${clause})`, params);
  const next = params.length + 2;
  const sql = `update sessions set revoked_at = $1, revoked_reason = $${next + 1}
    where ${clause} and ${LIVE} and ($${next}::uuid is null or uuid <> $${next})`;
  return endTogether(tx, sql, [at, ...params, spared, reason]);
}
