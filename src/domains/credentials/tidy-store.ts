import type { Database } from "../../platform/db/types.ts";

/** Rows that one statement deletes. */
const BATCH = 1_000;

/** Deletes a batch of the keys and tokens that were revoked or expired before a time; returns how many. */
export async function deleteEnded(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const deleteBatch = (table: string, key: string, ended: string): Promise<object[]> =>
    database.prepared(
      `${table}-tidy: ${ended}`,
      `delete from ${table} where ${key} = any(array(
         select ${key} from ${table} where ${ended} limit ${BATCH} for update skip locked)) returning 1 as one`,
      [before],
    );
  const [revoked, expired] = ["revoked_at < $1", "revoked_at is null and expires_at < $1"];
  const deleted = await Promise.all([
    deleteBatch("api_keys", "key_id", revoked),
    deleteBatch("api_keys", "key_id", expired),
    deleteBatch("scim_tokens", "token_id", revoked),
    deleteBatch("scim_tokens", "token_id", expired),
  ]);
  return deleted.flat().length;
}
