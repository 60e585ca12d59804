import type { Database, Tx } from "../../../platform/db/types.ts";
import { selectList } from "../lists/columns.ts";
import type { Resource } from "../resource/values.ts";

/** A group as SCIM shows it, without its members. */
export interface GroupRow {
  groupUuid: string;
  /** Attributes as they are returned, without those the service adds. */
  data: Resource;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** Columns of a {@link GroupRow}, of `scim_groups u`, by their properties. */
export const GROUP_COLUMNS = {
  groupUuid: "u.group_uuid",
  data: "u.data",
  version: "u.version",
  createdAt: "u.created_at",
  updatedAt: "u.updated_at",
} as const satisfies Record<keyof GroupRow, string>;

/** A group to store. */
export interface NewGroup {
  orgUuid: string;
  groupUuid: string;
  displayName: string;
  externalId: string | null;
  data: Resource;
  folded: Resource;
  at: Date;
}

const one = `select ${selectList(GROUP_COLUMNS)} from scim_groups u where u.org_uuid = $1 and u.group_uuid = $2`;

/** A group of an organization. */
export async function findGroup(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  groupUuid: string,
): Promise<GroupRow | undefined> {
  return (await database.prepared<GroupRow>("scim_group", one, [orgUuid, groupUuid]))[0];
}

/** A group of an organization, locked until the transaction ends. */
export async function lockGroup(tx: Tx, orgUuid: string, groupUuid: string): Promise<GroupRow | undefined> {
  return (await tx.query<GroupRow>(`${one} for update`, [orgUuid, groupUuid]))[0];
}

/** Stores a group. */
export async function insertGroup(tx: Tx, group: NewGroup): Promise<void> {
  const { orgUuid, groupUuid, displayName, externalId, data, folded, at } = group;
  await tx.query(
    `insert into scim_groups (group_uuid, org_uuid, display_name, external_id, data, folded, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [groupUuid, orgUuid, displayName, externalId, JSON.stringify(data), JSON.stringify(folded), at],
  );
}

/** Changes the attributes of a group; its version rises. */
export async function updateGroup(tx: Tx, group: NewGroup): Promise<void> {
  const { groupUuid, displayName, externalId, data, folded, at } = group;
  await tx.query(
    `update scim_groups set display_name = $2, external_id = $3, data = $4, folded = $5, version = version + 1,
       updated_at = $6 where group_uuid = $1`,
    [groupUuid, displayName, externalId, JSON.stringify(data), JSON.stringify(folded), at],
  );
}

/** Deletes a group. */
export async function deleteGroup(tx: Tx, groupUuid: string): Promise<void> {
  await tx.query("delete from scim_groups where group_uuid = $1", [groupUuid]);
}

/** Number of an organization's groups. */
export async function countGroups(tx: Tx, orgUuid: string): Promise<number> {
  const sql = "select count(*)::int as total from scim_groups where org_uuid = $1";
  return (await tx.query<{ total: number }>(sql, [orgUuid]))[0]?.total ?? 0;
}

/** As {@link countGroups}; serializes transactions that count the same organization's until they end. */
export async function countGroupsAlone(tx: Tx, orgUuid: string): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('scim groups of ' || $1, 0))", [orgUuid]);
  return countGroups(tx, orgUuid);
}

/** The ids of these rows as one text, in order: a row for each takes the service far longer to read. */
const IDS = "string_agg(user_uuid::text, ',' order by user_uuid)";
const idsIn = (text: string | null | undefined): string[] => (text ? text.split(",") : []);

/** Ids of the users in groups that have any, in order. */
export async function membersOf(
  database: Pick<Database, "prepared">,
  groupUuids: readonly string[],
): Promise<ReadonlyMap<string, string[]>> {
  const sql = `select group_uuid as "groupUuid", ${IDS} as ids from scim_members
    where group_uuid = any($1::uuid[]) group by group_uuid`;
  const rows = await database.prepared<{ groupUuid: string; ids: string }>("scim_members", sql, [groupUuids]);
  return new Map(rows.map(({ groupUuid, ids }) => [groupUuid, idsIn(ids)]));
}

/** Number of users in groups that have any. */
export async function memberCounts(
  database: Pick<Database, "prepared">,
  groupUuids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const sql = `select group_uuid as "groupUuid", count(*)::int as members from scim_members
    where group_uuid = any($1::uuid[]) group by group_uuid`;
  const rows = await database.prepared<{ groupUuid: string; members: number }>("scim_member_counts", sql, [groupUuids]);
  return new Map(rows.map(({ groupUuid, members }) => [groupUuid, members]));
}

/** Ids of the users in a group, in order, read in a transaction. */
export async function membersIn(tx: Tx, groupUuid: string): Promise<string[]> {
  const sql = `select ${IDS} as ids from scim_members where group_uuid = $1`;
  return idsIn((await tx.query<{ ids: string | null }>(sql, [groupUuid]))[0]?.ids);
}

/** Those of these users who are in a group, and the number of all users in it. */
export async function membersAmong(
  tx: Tx,
  groupUuid: string,
  userUuids: readonly string[],
): Promise<{ members: string[]; total: number }> {
  const sql = `select (select count(*)::int from scim_members where group_uuid = $1) as total,
      (select ${IDS} from scim_members where group_uuid = $1 and user_uuid = any($2::uuid[])) as ids`;
  const [found] = await tx.query<{ total: number; ids: string | null }>(sql, [groupUuid, userUuids]);
  return { members: idsIn(found?.ids), total: found?.total ?? 0 };
}

/** Puts users of the organization into a group; returns how many of them exist. */
export async function insertMembers(
  tx: Tx,
  orgUuid: string,
  groupUuid: string,
  userUuids: readonly string[],
): Promise<number> {
  const sql = `with known as (
      select user_uuid from scim_users where org_uuid = $1 and user_uuid = any($3::uuid[]) order by 1 for key share),
    added as (
      insert into scim_members (group_uuid, user_uuid, org_uuid) select $2, user_uuid, $1 from known
      on conflict do nothing)
    select count(*)::int as known from known`;
  return (await tx.query<{ known: number }>(sql, [orgUuid, groupUuid, userUuids]))[0]?.known ?? 0;
}

/** Takes users out of a group. */
export async function deleteMembers(tx: Tx, groupUuid: string, userUuids: readonly string[]): Promise<void> {
  await tx.query("delete from scim_members where group_uuid = $1 and user_uuid = any($2::uuid[])", [
    groupUuid,
    userUuids,
  ]);
}
