import type { Tx } from "../../platform/db/types.ts";

/** Ends every live session of a person in an organization; answers how many. */
export async function revokeSessionsIn(tx: Tx, orgUuid: string, userUuid: string, reason: string, at: Date): Promise<number> {
  const rows = await tx.query(
    `update sessions set revoked_at = $3, revoked_reason = $4
     where user_uuid = $2 and org_uuid = $1 and revoked_at is null and expires_at > $3 returning uuid`,
    [orgUuid, userUuid, at, reason],
  );
  return rows.length;
}

/** Ends every live session in an organization; answers how many. */
export async function revokeSessionsOfOrganization(tx: Tx, orgUuid: string, reason: string, at: Date): Promise<number> {
  const rows = await tx.query<{ n: number }>(
    `with ended as (
       update sessions set revoked_at = $2, revoked_reason = $3 where org_uuid = $1 and revoked_at is null and expires_at > $2 returning 1)
     select count(*)::int as n from ended`,
    [orgUuid, at, reason],
  );
  return rows[0]?.n ?? 0;
}
