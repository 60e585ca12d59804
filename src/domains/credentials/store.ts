import type { Database, Tx } from "../../platform/db/types.ts";

/**
 * Serializes what creates and ends an organization's credentials until the transaction ends, so that they can be
 * counted. Comes before the caller is reauthorized: two keys that revoke each other, or identities that end or change
 * each other, would each hold themselves and wait for the other.
 */
export async function lockCredentials(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
}

/** Revokes every live key and token of an organization. */
export async function revokeAllOf(tx: Tx, orgUuid: string, at: Date): Promise<void> {
  await tx.reauthorize();
  await tx.query("update api_keys set revoked_at = $2 where org_uuid = $1 and revoked_at is null", [orgUuid, at]);
  await tx.query("update scim_tokens set revoked_at = $2 where org_uuid = $1 and revoked_at is null", [orgUuid, at]);
}

/** SQL that records a use. It skips a row that a transaction has locked, so that authentication never waits. */
const recordUse = (table: string, id: string): string =>
  `update ${table} set last_used_at = $2
   where ${id} in (select ${id} from ${table} where ${id} = $1 for no key update skip locked) returning 1 as one`;

/** Records the use of a key; false when a transaction has locked it. */
export async function recordKeyUse(database: Pick<Database, "identifying">, keyId: string, at: Date): Promise<boolean> {
  return (await database.identifying("api-key-used", recordUse("api_keys", "key_id"), [keyId, at])).length > 0;
}

/** Records the use of a SCIM token; false when a transaction has locked it. */
export async function recordTokenUse(
  database: Pick<Database, "identifying">,
  tokenId: string,
  at: Date,
): Promise<boolean> {
  return (
    (await database.identifying("scim-token-used", recordUse("scim_tokens", "token_id"), [tokenId, at])).length > 0
  );
}
