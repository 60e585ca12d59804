import type { Database, Tx } from "../../platform/db/types.ts";

/** SQL that records a use of an identity; like all such records it skips a locked row, so that nobody waits. */
const identityUsed = (identityId: string): string => `
  update service_identities set last_auth_at = $2 where identity_id in (
    select identity_id from service_identities where identity_id = ${identityId} for no key update skip locked)
  returning 1 as one`;

/** Records the use of an SVID's identity; false when a transaction has locked it. */
export async function recordIdentityUse(
  database: Pick<Database, "identifying">,
  identityId: string,
  at: Date,
): Promise<boolean> {
  return (await database.identifying("identity-used", identityUsed("$1"), [identityId, at])).length > 0;
}

/** Records the use of a token and its identity; false when a transaction has locked one of them. */
export async function recordTokenUse(
  database: Pick<Database, "identifying">,
  tokenId: string,
  at: Date,
): Promise<boolean> {
  const sql = `with token as (
      update automation_tokens set last_used_at = $2 where token_id in (
        select token_id from automation_tokens where token_id = $1 for no key update skip locked)
      returning identity_id)
    ${identityUsed("(select identity_id from token)")}`;
  return (await database.identifying("automation-token-used", sql, [tokenId, at])).length > 0;
}

type Judged = [credentialId: string, identityId: string, version: number, at: Date, alone: boolean];

/**
 * Checks that an automation token and its identity have not changed, and locks both until the transaction ends.
 * @throws {unauthorized} otherwise
 */
export async function reauthorizeAutomationToken(tx: Pick<Tx, "query">, params: Judged): Promise<void> {
  await tx.query("select judge_automation_token($1, $2, $3, $4, $5)", params);
}

/**
 * Checks that an SVID and its identity have not changed, and locks both until the transaction ends.
 * @throws {unauthorized} otherwise
 */
export async function reauthorizeSvid(tx: Pick<Tx, "query">, params: Judged): Promise<void> {
  await tx.query("select judge_svid($1, $2, $3, $4, $5)", params);
}
