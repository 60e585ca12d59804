import type { Database } from "../../platform/db/types.ts";

/** Rows that one statement deletes. */
const BATCH = 1_000;

/**
 * Deletes a batch of the tokens, SVIDs and identities that ended before a time; returns how many. An identity outlives
 * the records of its credentials.
 */
export async function deleteEnded(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const deleteBatch = (name: string, table: string, key: string, ended: string): Promise<object[]> =>
    database.prepared(
      `tidy-${name}`,
      `delete from ${table} where ${key} = any(array(
         select ${key} from ${table} where ${ended} limit ${BATCH} for update skip locked)) returning 1 as one`,
      [before],
    );
  const credentials = await Promise.all([
    deleteBatch("revoked-tokens", "automation_tokens", "token_id", "revoked_at < $1"),
    deleteBatch("expired-tokens", "automation_tokens", "token_id", "revoked_at is null and expires_at < $1"),
    deleteBatch("svids", "svids", "svid_id", "not_after < $1"),
  ]);
  const unused = `deleted_at < $1
    and not exists (select 1 from automation_tokens t where t.identity_id = service_identities.identity_id)
    and not exists (select 1 from svids s where s.identity_id = service_identities.identity_id)
    and not exists (select 1 from api_keys k where k.made_by_identity = service_identities.identity_id)`;
  const identities = await deleteBatch("identities", "service_identities", "identity_id", unused);
  return credentials.flat().length + identities.length;
}
