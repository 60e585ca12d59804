import type { Database } from "../../platform/db/types.ts";

/** Forgets some of the keys and tokens that were revoked or expired before a time; returns how many. */
export async function forgetEnded(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const forget = (table: string, key: string, ended: string): Promise<object[]> =>
    database.prepared(
      `${table} forgotten: ${ended}`,
      `delete from ${table} where ${key} in (select ${key} from ${table} where ${ended} limit 1000) returning 1 as one`,
      [before],
    );
  const [revoked, expired] = ["revoked_at < $1", "revoked_at is null and expires_at < $1"];
  const gone = await Promise.all([
    forget("api_keys", "key_id", revoked),
    forget("api_keys", "key_id", expired),
    forget("scim_tokens", "token_id", revoked),
    forget("scim_tokens", "token_id", expired),
  ]);
  return gone.flat().length;
}
