import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { rowsOf } from "../../platform/db/rows.ts";
import type { Source } from "../../platform/db/rows.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** A role with its permissions. */
export interface RoleRow {
  id: number;
  name: string;
  /** It exists in every organization and never changes. */
  builtIn: boolean;
  /** Names of its permissions. */
  permissions: string[];
}

const columns = `r.id, r.name, r.org_uuid is null as "builtIn", array(
    select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
    where rp.role_id = r.id order by p.id) as permissions`;

/** A role's name as it is stored. */
export const storedName = (text: string): string => text.normalize("NFKC").trim();

/** A role an organization has, by id or by name in any case; undefined for any other. */
export async function roleOf(tx: Tx, orgUuid: string, wanted: number | string): Promise<RoleRow | undefined> {
  const [clause, value] =
    typeof wanted === "number" ? ["r.id = $2::bigint", wanted] : ["lower(r.name) = lower($2)", storedName(wanted)];
  const sql = `select ${columns} from roles r where (r.org_uuid is null or r.org_uuid = $1) and ${clause}`;
  return (await tx.query<RoleRow>(sql, [orgUuid, value]))[0];
}

/** A role of an organization's own, locked until the transaction ends; also finds built-in ones. */
export async function lockRole(tx: Tx, orgUuid: string, roleId: number): Promise<RoleRow | undefined> {
  const sql = `select ${columns} from roles r
    where (r.org_uuid is null or r.org_uuid = $1) and r.id = $2::bigint for no key update of r`;
  return (await tx.query<RoleRow>(sql, [orgUuid, roleId]))[0];
}

/** Number of an organization's own roles. Serializes the transactions that ask for the same one. */
export async function countOwnRoles(tx: Tx, orgUuid: string): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('roles of ' || $1, 0))", [orgUuid]);
  const sql = "select count(*)::int as count from roles where org_uuid = $1";
  return (await tx.query<{ count: number }>(sql, [orgUuid]))[0]?.count ?? 0;
}

/** Adds a role to an organization; undefined when it has one of that name, whatever the case. */
export async function insertRole(
  tx: Tx,
  orgUuid: string,
  name: string,
  at: Date,
): Promise<{ id: number; name: string } | undefined> {
  const sql = `
    insert into roles (org_uuid, name, created_at)
    select $1, $2, $3 where not exists (select 1 from roles where org_uuid is null and lower(name) = lower($2))
    on conflict do nothing returning id, name`;
  return (await tx.query<{ id: number; name: string }>(sql, [orgUuid, name, at]))[0];
}

/** Permissions of the catalogue among these ids. */
export function permissionsAmong(tx: Tx, ids: readonly number[]): Promise<{ id: number; name: string }[]> {
  return tx.query<{ id: number; name: string }>(
    "select id, name from permissions where id = any($1::bigint[]) order by id",
    [ids],
  );
}

/** Makes these the permissions of a role. */
export async function setPermissions(tx: Tx, roleId: number, ids: readonly number[]): Promise<void> {
  await tx.query("delete from role_permissions where role_id = $1 and permission_id <> all($2::int[])", [roleId, ids]);
  await tx.query(
    `insert into role_permissions (role_id, permission_id)
     select $1, id from unnest($2::int[]) as wanted (id) on conflict do nothing`,
    [roleId, ids],
  );
}

/** A role or a permission as lists show it. */
export interface NamedRow {
  id: number;
  name: string;
}

/** A page of the roles of an organization: the built-in ones, which are older than all others, and its own. */
export function pageOfRoles(database: Database, orgUuid: string, page: Page): Promise<Listed<NamedRow>> {
  return readList<NamedRow>(
    database,
    {
      name: "access_roles",
      columns: "id, name",
      from: "from roles where (org_uuid is null or org_uuid = $1)",
      params: [orgUuid],
      id: { sql: "id", type: "integer" },
      q: ["name"],
      sort: { name: byText("name"), created_at: createdAt() },
      order: "created_at",
      ties: "with",
    },
    page,
  );
}

/** The whole catalogue of permissions. */
export function listPermissions(database: Database): Promise<NamedRow[]> {
  return database.prepared<NamedRow>("access_permissions", "select id, name from permissions order by id", []);
}

/** Locks an organization's own roles of these names against a change of their permissions, until the end. */
export async function lockRoles(tx: Tx, orgUuid: string, names: readonly string[]): Promise<void> {
  await tx.query("select from roles where org_uuid = $1 and name = any ($2) order by id for share", [orgUuid, names]);
}

/** Whether a role of one of these names, of the organization or built in, has a permission. */
export async function rolesGrant(
  source: Source,
  orgUuid: string,
  names: readonly string[],
  permission: string,
): Promise<boolean> {
  const sql = `
    select 1 as one from roles r
    join role_permissions rp on rp.role_id = r.id join permissions p on p.id = rp.permission_id
    where (r.org_uuid = $1 or r.org_uuid is null) and r.name = any ($2) and p.name = $3 limit 1`;
  return (await rowsOf(source, "access_permission_check", sql, [orgUuid, names, permission])).length > 0;
}

/** Permissions of a role the organization has; undefined for a role it does not have. */
export async function permissionsOf(
  database: Database,
  orgUuid: string,
  roleId: number,
): Promise<NamedRow[] | undefined> {
  const sql = `
    select p.id, p.name from roles r
    left join role_permissions rp on rp.role_id = r.id
    left join permissions p on p.id = rp.permission_id
    where r.id = $2::bigint and (r.org_uuid is null or r.org_uuid = $1) order by p.id`;
  const rows = await database.prepared<{ id: number | null; name: string }>("access_role_permissions", sql, [
    orgUuid,
    roleId,
  ]);
  if (rows.length === 0) return undefined;
  return rows.filter((row): row is NamedRow => row.id !== null);
}
