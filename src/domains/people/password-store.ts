import type { Database, Tx } from "../../platform/db/types.ts";

/** The stored password of a person. */
export interface PasswordRow {
  id: number;
  uuid: string;
  email: string;
  passwordHash: string | null;
  credentialsVersion: number;
}

const COLUMNS = `p.id, p.uuid, p.email, p.password_hash as "passwordHash",
  p.credentials_version as "credentialsVersion"`;

/** The stored password of a person; undefined for an unknown person. */
export async function findPassword(database: Database, userUuid: string): Promise<PasswordRow | undefined> {
  const sql = `select ${COLUMNS} from people p where p.uuid = $1`;
  return (await database.prepared<PasswordRow>("users_password", sql, [userUuid]))[0];
}

/** The stored password of the person with an address. */
export async function findPasswordByEmail(database: Database, emailKey: string): Promise<PasswordRow | undefined> {
  const sql = `select ${COLUMNS} from people p where p.email_key = $1`;
  return (await database.prepared<PasswordRow>("users_password_email", sql, [emailKey]))[0];
}

/** Names of the organizations somebody belongs to. */
export async function organizationNamesOf(database: Database, userUuid: string): Promise<string[]> {
  const sql = `select o.name from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = $1 and m.status <> 'removed' and o.deleted_at is null`;
  return (await database.prepared<{ name: string }>("users_org_names", sql, [userUuid])).map(({ name }) => name);
}

/** A person and the membership that a password login enters. */
export interface LoginRow extends PasswordRow {
  orgUuid: string | null;
  orgName: string | null;
  member: boolean;
  /** Whether they are or were a member, of whatever status. */
  known: boolean;
}

const loginSql = `
  select ${COLUMNS},
    o.uuid as "orgUuid", o.name as "orgName", coalesce(m.status = 'active', false) as member,
    m.status is not null as known
  from people p
  left join organization_names n on n.name_key = $2
  left join organizations o on o.uuid = n.org_uuid and o.deleted_at is null
  left join memberships m on m.org_uuid = o.uuid and m.user_uuid = p.uuid
  where p.email_key = $1`;

/** The person with an address and their membership of the organization of a name, both folded. */
export async function findForLogin(
  database: Database,
  emailKey: string,
  nameKey: string,
): Promise<LoginRow | undefined> {
  return (await database.prepared<LoginRow>("users_login", loginSql, [emailKey, nameKey]))[0];
}

const anywhereSql = `
  select ${COLUMNS}, m.org_uuid as "orgUuid", m.name as "orgName",
    coalesce(m.active, false) as member, coalesce(m.active, false) as known
  from people p
  left join lateral (
    select m.org_uuid, o.name, true as active
    from memberships m join organizations o on o.uuid = m.org_uuid
    where m.user_uuid = p.uuid and m.status = 'active' and o.deleted_at is null
    order by m.last_used_at desc nulls last, m.created_at desc limit 1) m on true
  where p.email_key = $1`;

/** The person with an address and the active membership they used last, where they have one. */
export async function findForLoginAnywhere(database: Database, emailKey: string): Promise<LoginRow | undefined> {
  return (await database.prepared<LoginRow>("users_login_anywhere", anywhereSql, [emailKey]))[0];
}

/** Stores a stronger hash of the same password, unless the password was changed meanwhile. */
export async function replaceHash(tx: Tx, uuid: string, was: string, hash: string): Promise<void> {
  await tx.query("update people set password_hash = $3 where uuid = $1 and password_hash = $2", [uuid, was, hash]);
}
