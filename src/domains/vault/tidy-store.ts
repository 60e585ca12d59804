import type { Database } from "../../platform/db/types.ts";

type Background = Pick<Database, "prepared">;

/** Rows that one statement of a tidy task removes at most. */
const BATCH = 500;

/**
 * Removes one batch of versions that nothing can read: those of names whose restoration is over, and those of earlier
 * deletions of names that were written again. Returns their number. Skips names that are being restored, and versions
 * that a rotation rewraps: it locks them until it ends, and would wait for others that are deleted here.
 */
export async function deleteVersions(database: Background, at: Date): Promise<number> {
  const deleteOver = "delete from vault_versions v using over where v.secret_id = over.secret_id";
  const ended = `with names as materialized (
      select secret_id from vault_secrets s where deleted_at is not null and restorable_until <= $1
        and exists (select from vault_versions v where v.secret_id = s.secret_id)
      limit $2 for update skip locked
    ), over as materialized (
      select v.secret_id, v.version from names join vault_versions v using (secret_id)
      limit $2 for update of v skip locked
    ) ${deleteOver} and v.version = over.version returning 1 as one`;
  const remains = `with over as materialized (
      select v.secret_id, v.version from vault_secrets s
      join vault_versions v on v.secret_id = s.secret_id and v.version < s.first_version
      where s.has_remains limit $1 for update of v skip locked
    ) ${deleteOver} and v.version = over.version returning 1 as one`;
  const [ofEnded, ofOthers] = [
    await database.prepared("vault-tidy-versions", ended, [at, BATCH]),
    await database.prepared("vault-tidy-earlier-versions", remains, [BATCH]),
  ];
  return ofEnded.length + ofOthers.length;
}

/** Removes one batch of deleted names without versions, and notes which names have no remains any more. */
export async function deleteNames(database: Background, at: Date): Promise<number> {
  const names = `delete from vault_secrets where secret_id in (
      select s.secret_id from vault_secrets s
      where s.deleted_at is not null and s.restorable_until <= $1
        and not exists (select from vault_versions v where v.secret_id = s.secret_id)
      limit $2 for update skip locked)
    returning 1 as one`;
  const remains = `update vault_secrets set has_remains = false where secret_id in (
      select s.secret_id from vault_secrets s
      where s.has_remains and not exists (
        select from vault_versions v where v.secret_id = s.secret_id and v.version < s.first_version)
      limit $1 for update skip locked)
    returning 1 as one`;
  const deleted = await database.prepared("vault-tidy-names", names, [at, BATCH]);
  const cleared = await database.prepared("vault-tidy-remains", remains, [BATCH]);
  return deleted.length + cleared.length;
}
