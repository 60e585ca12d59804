import type { Database, Tx } from "../../platform/db/types.ts";

/** Makes somebody a member; false when there is a membership, of whatever status. */
export async function insertMembership(
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  roleId: number,
  isOwner: boolean,
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into memberships (org_uuid, user_uuid, role_id, is_owner, last_used_at, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $5, $5) on conflict (org_uuid, user_uuid) do nothing returning org_uuid`,
    [orgUuid, userUuid, roleId, isOwner, at],
  );
  return rows.length === 1;
}

/** Makes people who never were members of an organization members with a role. */
export async function insertMemberships(
  tx: Tx,
  orgUuid: string,
  userUuids: readonly string[],
  roleId: number,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into memberships (org_uuid, user_uuid, role_id, last_used_at, created_at, updated_at)
     select $1, user_uuid, $3, $4, $4, $4 from unnest($2::uuid[]) as n (user_uuid)`,
    [orgUuid, userUuids, roleId, at],
  );
}

/** Makes somebody a member with a role, anew where they were removed; false where they are a member, active or not. */
export async function joinMembership(
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  roleId: number,
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into memberships as m (org_uuid, user_uuid, role_id, last_used_at, created_at, updated_at)
     values ($1, $2, $3, $4, $4, $4)
     on conflict (org_uuid, user_uuid) do update
       set role_id = excluded.role_id, is_owner = false, status = 'active', version = m.version + 1,
         last_used_at = excluded.last_used_at, created_at = excluded.created_at, updated_at = excluded.updated_at
       where m.status = 'removed'
     returning m.org_uuid`,
    [orgUuid, userUuid, roleId, at],
  );
  return rows.length === 1;
}

/** Status of the membership of the person with an address; undefined where there never was one. */
export async function membershipStatusByEmail(tx: Tx, orgUuid: string, emailKey: string): Promise<string | undefined> {
  const sql = "select status from memberships where org_uuid = $1 and email_key = $2";
  return (await tx.query<{ status: string }>(sql, [orgUuid, emailKey]))[0]?.status;
}

/** Status of a membership; undefined where there never was one. */
export async function membershipStatus(tx: Tx, orgUuid: string, userUuid: string): Promise<string | undefined> {
  const rows = await tx.query<{ status: string }>(
    "select status from memberships where org_uuid = $1 and user_uuid = $2",
    [orgUuid, userUuid],
  );
  return rows[0]?.status;
}

/** Whether a membership is active; if so, it stays as it is until the transaction ends. */
export async function keepActiveMembership(tx: Tx, orgUuid: string, userUuid: string): Promise<boolean> {
  return (
    (
      await tx.query(
        "select 1 from memberships where org_uuid = $1 and user_uuid = $2 and status = 'active' for share",
        [orgUuid, userUuid],
      )
    ).length > 0
  );
}

/** The organization somebody used last among those where they are an active member. */
export async function lastUsedOrganization(tx: Tx, userUuid: string): Promise<string | undefined> {
  const rows = await tx.query<{ org_uuid: string }>(
    `select m.org_uuid from memberships m join organizations o on o.uuid = m.org_uuid
     where m.user_uuid = $1 and m.status = 'active' and o.deleted_at is null
     order by m.last_used_at desc nulls last, m.created_at desc limit 1`,
    [userUuid],
  );
  return rows[0]?.org_uuid;
}

/**
 * The person with an address, and the organization they would act in: the one named where they are an active member,
 * else the one last used.
 */
export async function wouldEnter(
  database: Database,
  emailKey: string,
  orgUuid: string | null,
): Promise<{ userUuid: string | null; orgUuid: string | null }> {
  const rows = await database.prepared<{ userUuid: string; orgUuid: string | null }>(
    "users_would_enter",
    `select p.uuid as "userUuid", (
       select m.org_uuid from memberships m join organizations o on o.uuid = m.org_uuid
       where m.user_uuid = p.uuid and m.status = 'active' and o.deleted_at is null
       order by coalesce(m.org_uuid = $2::uuid, false) desc, m.last_used_at desc nulls last, m.created_at desc
       limit 1) as "orgUuid"
     from people p where p.email_key = $1`,
    [emailKey, orgUuid],
  );
  return rows[0] ?? { userUuid: null, orgUuid: null };
}

/** The organizations where somebody is an active member. */
export async function activeOrganizationsOf(tx: Tx, userUuid: string): Promise<string[]> {
  const sql = `select m.org_uuid from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.status = 'active' and o.deleted_at is null`;
  return (await tx.query<{ org_uuid: string }>(sql, [userUuid])).map(({ org_uuid }) => org_uuid);
}

/** Whether somebody is a member, active or not, of another organization than this one. */
export async function belongsElsewhere(tx: Tx, orgUuid: string, userUuid: string): Promise<boolean> {
  const sql = `select 1 from memberships m join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
    where m.user_uuid = $1 and m.org_uuid <> $2 and m.status <> 'removed' limit 1`;
  return (await tx.query(sql, [userUuid, orgUuid])).length > 0;
}

const OWNED_ALONE = `select m.org_uuid from memberships m join organizations o on o.uuid = m.org_uuid
  where m.is_owner and m.status = 'active' and o.deleted_at is null and not exists (
    select 1 from memberships other
    where other.org_uuid = m.org_uuid and other.user_uuid <> m.user_uuid
      and other.is_owner and other.status = 'active')`;

/** The live organizations whose only active owner somebody is. */
export async function organizationsOwnedAlone(tx: Tx, userUuid: string): Promise<string[]> {
  const sql = `${OWNED_ALONE} and m.user_uuid = $1 order by m.org_uuid`;
  return (await tx.query<{ org_uuid: string }>(sql, [userUuid])).map(({ org_uuid }) => org_uuid);
}

/** The same of the person with an address, where nobody has proven it; nobody is locked. */
export async function organizationsOwnedUnproven(tx: Tx, emailKey: string): Promise<string[]> {
  const sql = `${OWNED_ALONE} and m.user_uuid = (select uuid from people
    where email_key = $1 and email_confirmed_at is null and mailbox_proven_at is null)`;
  return (await tx.query<{ org_uuid: string }>(sql, [emailKey])).map(({ org_uuid }) => org_uuid);
}

/** The live organizations somebody is a member of, active or not, and whether nobody else is an active member. */
export function membershipsOf(
  tx: Tx,
  userUuid: string,
): Promise<{ org_uuid: string; org_name: string; alone: boolean }[]> {
  const sql = `select m.org_uuid, o.name as org_name, not exists (
      select 1 from memberships other
      where other.org_uuid = m.org_uuid and other.user_uuid <> $1 and other.status = 'active') as alone
    from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.status <> 'removed' and o.deleted_at is null order by m.org_uuid`;
  return tx.query(sql, [userUuid]);
}

/** Active owners of an organization, the first one first. */
export async function ownersOf(database: Database, orgUuid: string): Promise<{ userUuid: string; email: string }[]> {
  return database.prepared<{ userUuid: string; email: string }>(
    "users_owners",
    `select p.uuid as "userUuid", p.email from memberships m join people p on p.uuid = m.user_uuid
     where m.org_uuid = $1 and m.is_owner and m.status = 'active' order by m.created_at, p.id limit 1000`,
    [orgUuid],
  );
}

/** Which of these people are active members of an organization. */
export async function activeMembersOf(
  database: Database,
  orgUuid: string,
  userUuids: readonly string[],
): Promise<ReadonlySet<string>> {
  const sql =
    "select user_uuid from memberships where org_uuid = $1 and user_uuid = any($2::uuid[]) and status = 'active'";
  const rows = await database.prepared<{ user_uuid: string }>("users_active_of", sql, [orgUuid, userUuids]);
  return new Set(rows.map((row) => row.user_uuid));
}
