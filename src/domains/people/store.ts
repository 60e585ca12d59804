import { LockMode } from "@mikro-orm/postgresql";
import type { Database, Tx } from "../../platform/db/types.ts";
import { Person } from "./entities.ts";

/** A new person. */
export interface NewPerson {
  email: string;
  emailKey: string;
  firstName: string;
  lastName: string;
  passwordHash: string | null;
  confirmed: boolean;
  /** Platform admin, superuser and operator, all three. */
  powerful: boolean;
  /** Unique without case. */
  username: string | null;
  phone: string | null;
}

/** Stores a person; undefined when the address is taken. */
export async function insertPerson(
  tx: Tx,
  uuid: string,
  person: NewPerson,
  at: Date,
): Promise<{ id: number } | undefined> {
  const rows = await tx.query<{ id: number }>(
    `insert into people (uuid, email, email_key, first_name, last_name, password_hash, email_confirmed_at,
       is_platform_admin, is_superuser, is_operator, username, phone, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $8, $10, $11, $9, $9)
     on conflict (email_key) do nothing returning id`,
    [
      uuid,
      person.email,
      person.emailKey,
      person.firstName,
      person.lastName,
      person.passwordHash,
      person.confirmed ? at : null,
      person.powerful,
      at,
      person.username,
      person.phone,
    ],
  );
  return rows[0];
}

/** The person behind an address, row locked until the transaction ends. */
export function lockPersonByEmail(tx: Tx, emailKey: string): Promise<Person | null> {
  return tx.em.findOne(Person, { emailKey }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** A person, row locked until the transaction ends. */
export function lockPerson(tx: Tx, uuid: string): Promise<Person | null> {
  return tx.em.findOne(Person, { uuid }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** What the profile and the superuser lookup show. */
export interface PersonRow {
  id: number;
  uuid: string;
  email: string;
  first_name: string;
  last_name: string;
  phone: string | null;
  username: string | null;
  is_superuser: boolean;
}

const shown = "id, uuid, email, first_name, last_name, phone, username, is_superuser";

/** A person by id. */
export async function findPerson(database: Database, uuid: string): Promise<PersonRow | undefined> {
  return (await database.prepared<PersonRow>("users_one", `select ${shown} from people where uuid = $1`, [uuid]))[0];
}

/** A person by address. */
export async function findPersonByEmail(database: Database, emailKey: string): Promise<PersonRow | undefined> {
  return (
    await database.prepared<PersonRow>("users_email", `select ${shown} from people where email_key = $1`, [emailKey])
  )[0];
}

/** Confirms the address of somebody; false when it was confirmed before. */
export async function confirmEmail(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql = `update people set email_confirmed_at = $2, updated_at = $2, version = version + 1
    where uuid = $1 and email_confirmed_at is null returning 1 as one`;
  return (await tx.query(sql, [uuid, at])).length > 0;
}

/**
 * Confirms the address of somebody who has proven their mailbox; false when that is not so, or it was confirmed before.
 */
export async function confirmProven(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql = `update people set email_confirmed_at = $2, updated_at = $2, version = version + 1
    where uuid = $1 and email_confirmed_at is null and mailbox_proven_at is not null returning 1 as one`;
  return (await tx.query(sql, [uuid, at])).length > 0;
}

/** Deletes the picture of somebody. */
export async function deletePicture(tx: Tx, uuid: string): Promise<void> {
  await tx.query("delete from pictures where user_uuid = $1", [uuid]);
}

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

/** Status of the membership of the person behind an address; undefined where there never was one. */
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
 * The person behind an address, and the organization they would act in: the one named where they are an active member,
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
       order by coalesce(m.org_uuid = $2::uuid, false) desc, m.last_used_at desc nulls last, m.created_at desc limit 1) as "orgUuid"
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

/** The live organizations whose only active owner somebody is. */
export async function organizationsOwnedAlone(tx: Tx, userUuid: string): Promise<string[]> {
  const sql = `select m.org_uuid from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.is_owner and m.status = 'active' and o.deleted_at is null and not exists (
      select 1 from memberships other where other.org_uuid = m.org_uuid and other.user_uuid <> $1 and other.is_owner and other.status = 'active')
    order by m.org_uuid`;
  return (await tx.query<{ org_uuid: string }>(sql, [userUuid])).map(({ org_uuid }) => org_uuid);
}

/** The live organizations somebody is a member of, active or not, and whether nobody else is. */
export function membershipsOf(
  tx: Tx,
  userUuid: string,
): Promise<{ org_uuid: string; org_name: string; alone: boolean }[]> {
  const sql = `select m.org_uuid, o.name as org_name, not exists (
      select 1 from memberships other where other.org_uuid = m.org_uuid and other.user_uuid <> $1 and other.status <> 'removed') as alone
    from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.status <> 'removed' and o.deleted_at is null order by m.org_uuid`;
  return tx.query(sql, [userUuid]);
}

/** Whether a person is or was a member of the organization; with null, exists at all. */
export async function isKnown(database: Database, userUuid: string, orgUuid: string | null): Promise<boolean> {
  const rows =
    orgUuid === null
      ? await database.prepared("users_known", "select 1 from people where uuid = $1", [userUuid])
      : await database.prepared("users_known_in", "select 1 from memberships where user_uuid = $1 and org_uuid = $2", [
          userUuid,
          orgUuid,
        ]);
  return rows.length > 0;
}

/** What a password is checked against. */
export interface PasswordRow {
  id: number;
  uuid: string;
  email: string;
  password_hash: string | null;
  credentials_version: number;
}

/** What is known of somebody's password. */
export async function findPassword(database: Database, userUuid: string): Promise<PasswordRow | undefined> {
  const sql = "select id, uuid, email, password_hash, credentials_version from people where uuid = $1";
  return (await database.prepared<PasswordRow>("users_password", sql, [userUuid]))[0];
}

/** What is known of the password of the person behind an address. */
export async function findPasswordByEmail(database: Database, emailKey: string): Promise<PasswordRow | undefined> {
  const sql = "select id, uuid, email, password_hash, credentials_version from people where email_key = $1";
  return (await database.prepared<PasswordRow>("users_password_email", sql, [emailKey]))[0];
}

/** Names of the organizations somebody belongs to. */
export async function organizationNamesOf(database: Database, userUuid: string): Promise<string[]> {
  const sql = `select o.name from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.status <> 'removed' and o.deleted_at is null`;
  return (await database.prepared<{ name: string }>("users_org_names", sql, [userUuid])).map(({ name }) => name);
}

/** What a password login is judged by: the person, if they are an active member of the organization of that name. */
export interface LoginRow extends PasswordRow {
  org_uuid: string | null;
  org_name: string | null;
  member: boolean;
  /** Whether they are or were a member, of whatever status. */
  known: boolean;
}

const loginSql = `
  select p.id, p.uuid, p.email, p.password_hash, p.credentials_version,
    o.uuid as org_uuid, o.name as org_name, coalesce(m.status = 'active', false) as member, m.status is not null as known
  from people p
  left join organization_names n on n.name_key = $2
  left join organizations o on o.uuid = n.org_uuid and o.deleted_at is null
  left join memberships m on m.org_uuid = o.uuid and m.user_uuid = p.uuid
  where p.email_key = $1`;

/** What is known of an address and an organization's name, both folded. */
export async function findForLogin(
  database: Database,
  emailKey: string,
  nameKey: string,
): Promise<LoginRow | undefined> {
  return (await database.prepared<LoginRow>("users_login", loginSql, [emailKey, nameKey]))[0];
}

/** Stores a stronger hash of the same password, unless the password was changed meanwhile. */
export async function replaceHash(tx: Tx, uuid: string, was: string, hash: string): Promise<void> {
  await tx.query("update people set password_hash = $3 where uuid = $1 and password_hash = $2", [uuid, was, hash]);
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

/** Addresses of people, by user_uuid. */
export async function emailsOf(database: Database, userUuids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await database.prepared<{ uuid: string; email: string }>(
    "users_emails",
    "select uuid, email from people where uuid = any($1::uuid[])",
    [userUuids],
  );
  return new Map(rows.map((row) => [row.uuid, row.email]));
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
