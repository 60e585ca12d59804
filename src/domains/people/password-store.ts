import type { Database, Tx } from "../../platform/db/types.ts";

/** The stored password of a person. */
export interface PasswordRow {
  id: number;
  uuid: string;
  email: string;
  password_hash: string | null;
  credentials_version: number;
}

/** The stored password of a person; undefined for an unknown person. */
export async function findPassword(database: Database, userUuid: string): Promise<PasswordRow | undefined> {
  const sql = "select id, uuid, email, password_hash, credentials_version from people where uuid = $1";
  return (await database.prepared<PasswordRow>("users_password", sql, [userUuid]))[0];
}

/** The stored password of the person with an address. */
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

/** A person and their membership of the organization of a name, for a password login. */
export interface LoginRow extends PasswordRow {
  org_uuid: string | null;
  org_name: string | null;
  member: boolean;
  /** Whether they are or were a member, of whatever status. */
  known: boolean;
}

const loginSql = `
  select p.id, p.uuid, p.email, p.password_hash, p.credentials_version,
    o.uuid as org_uuid, o.name as org_name, coalesce(m.status = 'active', false) as member,
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

/** Stores a stronger hash of the same password, unless the password was changed meanwhile. */
export async function replaceHash(tx: Tx, uuid: string, was: string, hash: string): Promise<void> {
  await tx.query("update people set password_hash = $3 where uuid = $1 and password_hash = $2", [uuid, was, hash]);
}
