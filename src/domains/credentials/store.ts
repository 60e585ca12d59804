import type { Database, Tx } from "../../platform/db/types.ts";

/** Interval in which one use of a credential is recorded, milliseconds. */
const USE_INTERVAL_MS = 60_000;

/** Serializes the creation of an organization's credentials until the transaction ends, so that they can be counted. */
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

/** Whether a use is to be recorded. */
function isDue(before: Date | null, at: Date): boolean {
  return before === null || at.getTime() - before.getTime() > USE_INTERVAL_MS;
}

/** Records the use of a key, at most once a minute. */
export async function recordKeyUse(
  database: Pick<Database, "identifying">,
  keyId: string,
  before: Date | null,
  at: Date,
): Promise<void> {
  if (isDue(before, at)) await database.identifying("api-key-used", recordUse("api_keys", "key_id"), [keyId, at]);
}

/** Records the use of a SCIM token, at most once a minute. */
export async function recordTokenUse(
  database: Pick<Database, "identifying">,
  tokenId: string,
  before: Date | null,
  at: Date,
): Promise<void> {
  if (isDue(before, at))
    await database.identifying("scim-token-used", recordUse("scim_tokens", "token_id"), [tokenId, at]);
}
