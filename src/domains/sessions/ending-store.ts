import type { Tx } from "../../platform/db/types.ts";

/** Sessions of one organization, or of none, that ended together. */
export interface EndedSessions {
  org_uuid: string | null;
  revoked: number;
  /** Some of them, 100 at most. */
  session_ids: string[];
}

/** Most ids that are told of sessions that ended together. */
const mostIds = 100;

/**
 * Runs an update of sessions, without `returning`, until there is nothing left to end, and answers by organization what it
 * ended. A session that another one was opening is not seen by the statement that waited for that to be over.
 */
export async function endTogether(tx: Tx, update: string, params: readonly unknown[]): Promise<EndedSessions[]> {
  const sql = `with ended as (${update} returning uuid, org_uuid)
    select org_uuid, count(*)::int as revoked, (array_agg(uuid))[1:${mostIds}] as session_ids from ended group by org_uuid`;
  const all = new Map<string | null, EndedSessions>();
  for (;;) {
    const ended = await tx.query<EndedSessions>(sql, params);
    if (ended.length === 0) return [...all.values()];
    for (const { org_uuid, revoked, session_ids } of ended) {
      const before = all.get(org_uuid);
      all.set(org_uuid, { org_uuid, revoked: revoked + (before?.revoked ?? 0), session_ids: [...(before?.session_ids ?? []), ...session_ids].slice(0, mostIds) });
    }
  }
}

/** Ends every live session of a person in an organization. */
export function revokeSessionsIn(tx: Tx, orgUuid: string, userUuid: string, reason: string, at: Date): Promise<EndedSessions[]> {
  const sql = `update sessions set revoked_at = $3, revoked_reason = $4
    where user_uuid = $2 and org_uuid = $1 and revoked_at is null and expires_at > $3`;
  return endTogether(tx, sql, [orgUuid, userUuid, at, reason]);
}

/** Ends every live session in an organization. */
export function revokeSessionsOfOrganization(tx: Tx, orgUuid: string, reason: string, at: Date): Promise<EndedSessions[]> {
  const sql = "update sessions set revoked_at = $2, revoked_reason = $3 where org_uuid = $1 and revoked_at is null and expires_at > $2";
  return endTogether(tx, sql, [orgUuid, at, reason]);
}
