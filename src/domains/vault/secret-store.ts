import { readList } from "../../platform/db/list.ts";
import type { Listed, ListSource } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { updateInBatches } from "../../platform/db/batched-updates.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { SealedVersion } from "./envelope.ts";
import type { Condition } from "./rules.ts";

type Reader = Pick<Database, "prepared">;

/** What a write sets besides the value; undefined leaves what is there. */
export interface Description {
  tags: string[] | undefined;
  description: string | undefined;
}

/** The name that was written, and its new version. */
export interface WrittenName {
  secretId: string;
  version: number;
}

// A deleted name continues its version numbers, with nothing else of what was deleted.
const putSql = `
  insert into vault_secrets as s (org_uuid, name, version, first_version, written_at, tags, description)
  values ($1, $2, 1, 1, $3, coalesce($4::text[], '{}'), $5::text)
  on conflict (org_uuid, name) do update set
    version = s.version + 1,
    first_version = case when s.deleted_at is null then s.first_version else s.version + 1 end,
    has_remains = s.has_remains or s.deleted_at is not null,
    written_at = $3,
    tags = coalesce($4::text[], case when s.deleted_at is null then s.tags else '{}' end),
    description = coalesce($5::text, case when s.deleted_at is null then s.description end),
    deleted_at = null,
    restorable_until = null
  where not $6::boolean or s.deleted_at is not null
  returning secret_id as "secretId", version`;

const updateSql = `
  update vault_secrets set version = version + 1, written_at = $3, tags = coalesce($4::text[], tags),
    description = coalesce($5::text, description)
  where org_uuid = $1 and name = $2 and deleted_at is null and ($6::bigint[] is null or version = any($6))
  returning secret_id as "secretId", version`;

/**
 * Takes the next version number of a name, and locks the name until the transaction ends. Undefined when the condition
 * does not hold.
 */
export async function nextVersion(
  tx: Tx,
  orgUuid: string,
  name: string,
  condition: Condition,
  { tags, description }: Description,
  at: Date,
): Promise<WrittenName | undefined> {
  const set = [orgUuid, name, at, tags ?? null, description ?? null];
  const rows =
    condition === "none" || condition === "absent"
      ? await tx.query<WrittenName>(putSql, [...set, condition === "absent"])
      : await tx.query<WrittenName>(updateSql, [...set, condition === "living" ? null : condition]);
  return rows[0];
}

/** Stores a version. */
export function insertVersion(tx: Tx, of: WrittenName, sealed: SealedVersion, at: Date): void {
  tx.defer(
    `insert into vault_versions (secret_id, version, key_id, wrapped_key, value, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [of.secretId, of.version, sealed.keyId, sealed.wrappedKey, sealed.value, at],
  );
}

/** Present version of a name in use, locked; undefined where it is not in use. */
export async function lockVersion(tx: Tx, orgUuid: string, name: string): Promise<number | undefined> {
  const sql = `select version from vault_secrets where org_uuid = $1 and name = $2 and deleted_at is null
    for no key update`;
  return (await tx.query<{ version: number }>(sql, [orgUuid, name]))[0]?.version;
}

/** Marks a name in use as deleted. */
export async function markDeleted(tx: Tx, orgUuid: string, name: string, at: Date, until: Date): Promise<void> {
  await tx.query(
    `update vault_secrets set deleted_at = $3, restorable_until = $4
     where org_uuid = $1 and name = $2 and deleted_at is null`,
    [orgUuid, name, at, until],
  );
}

/** Locks every secret of an organization until the transaction ends. */
export async function lockSecrets(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from vault_secrets where org_uuid = $1 order by secret_id for no key update", [orgUuid]);
}

/** Marks all names of an organization as deleted, and not to be restored. */
export async function endSecrets(tx: Tx, orgUuid: string, at: Date): Promise<void> {
  const set = "deleted_at = coalesce(deleted_at, $2), restorable_until = $2";
  const where = "org_uuid = $1 and restorable_until is distinct from $2";
  await updateInBatches(tx, { table: "vault_secrets", id: "secret_id", set, where }, [orgUuid, at]);
}

/** A version of a restored name. */
export interface RestoredRow {
  version: number;
  createdAt: Date;
}

/** Restores a deleted name while that is possible; undefined where it is not. */
export async function restore(tx: Tx, orgUuid: string, name: string, at: Date): Promise<RestoredRow | undefined> {
  const sql = `update vault_secrets set deleted_at = null, restorable_until = null
    where org_uuid = $1 and name = $2 and restorable_until > $3 returning version, written_at as "createdAt"`;
  return (await tx.query<RestoredRow>(sql, [orgUuid, name, at]))[0];
}

/** The versions of a name in use, newest first; none where it is not in use. */
export function versionsOf(
  database: Reader,
  orgUuid: string,
  name: string,
  most: number,
): Promise<{ version: number; createdAt: Date }[]> {
  // The subquery reads no more versions than it returns.
  const sql = `select v.version, v.created_at as "createdAt"
    from vault_secrets s cross join lateral (
      select * from vault_versions v where v.secret_id = s.secret_id and v.version >= s.first_version
      order by v.version desc limit $3) v
    where s.org_uuid = $1 and s.name = $2 and s.deleted_at is null
    order by v.version desc`;
  return database.prepared("vault-versions", sql, [orgUuid, name, most]);
}

/** A secret in a list. */
export interface SecretRow {
  name: string;
  version: number;
  tags: string[];
  createdAt: Date;
  deletedAt: Date | null;
  restorableUntil: Date | null;
}

/** Which secrets to list. */
export interface SecretFilter {
  /** The deleted that can be restored, instead of the others. */
  deleted: boolean;
  /** What a name begins with, before its first dot; undefined for all. */
  folder: string | undefined;
}

const inUse = "org_uuid = $1 and deleted_at is null";

/** Secrets of an organization without values, by default by name. */
export function pageOfSecrets(
  database: Reader,
  orgUuid: string,
  { deleted, folder }: SecretFilter,
  at: Date,
  page: Page,
): Promise<Listed<SecretRow>> {
  const params: unknown[] = [orgUuid];
  let where = deleted ? `org_uuid = $1 and restorable_until > $${params.push(at)}::timestamptz` : inUse;
  if (folder !== undefined) where += ` and name ^@ ($${params.push(folder)}::text || '.')`;
  const list: ListSource = {
    name: "vault-secrets",
    columns: `name, version, tags, written_at as "createdAt", deleted_at as "deletedAt",
      restorable_until as "restorableUntil"`,
    from: `from vault_secrets where ${where}`,
    params,
    id: { sql: "secret_id", type: "bigint" },
    q: ["name"],
    sort: { name: { sql: "name", type: "text" }, created_at: { sql: "written_at", type: "timestamptz" } },
    order: "name",
  };
  return readList(database, list, page);
}

/**
 * The first `most` folders by name, with the number of names in use in each; a folder is what stands before the first
 * dot of a name. The expressions are those of the index `vault_secrets_by_folder`, so that an index-only scan reads and
 * counts the folders in order.
 */
export function foldersOf(
  database: Reader,
  orgUuid: string,
  most: number,
): Promise<{ name: string; secrets: number }[]> {
  const sql = `select split_part(name, '.', 1) as name, count(*)::int as secrets from vault_secrets
    where ${inUse} and strpos(name, '.') > 0 group by 1 order by 1 limit $2`;
  return database.prepared("vault-folders", sql, [orgUuid, most]);
}
