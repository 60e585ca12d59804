import type { Tx } from "../../platform/db/types.ts";

/** Sessions of one organization, or of none, that ended together. */
export interface EndedSessions {
  org_uuid: string | null;
  revoked: number;
  /** Some of them, 100 at most. */
  session_ids: string[];
  /** Those that others were derived from, which ended with them. */
  sources: string[];
}

/** A session that ended with the one it was derived from. */
export interface Follower {
  uuid: string;
  source_uuid: string;
  user_uuid: string;
  org_uuid: string | null;
}

/** Most sessions that are told of one by one because their source ended. */
const mostFollowers = 1_000;

/** The sessions that ended at a moment because one of these did, in every generation. */
export function followersOf(tx: Tx, sources: readonly string[], at: Date): Promise<Follower[]> {
  const columns = "s.uuid, s.source_uuid, s.user_uuid, s.org_uuid";
  const ended = "s.revoked_reason = 'source_ended' and s.revoked_at = $2";
  return tx.query<Follower>(
    `with recursive line as (
       select ${columns} from sessions s where s.source_uuid = any($1::uuid[]) and ${ended}
       union all select ${columns} from sessions s join line on s.source_uuid = line.uuid and ${ended}
     ) select * from line limit ${mostFollowers}`,
    [sources, at],
  );
}

/** Most ids that are told of sessions that ended together. */
const mostIds = 100;

/**
 * Runs an update of sessions, without `returning`, until there is nothing left to end, and answers by organization what
 * it ended. A session that another one was opening is not seen by the statement that waited for that to be over.
 */
export async function endTogether(tx: Tx, update: string, params: readonly unknown[]): Promise<EndedSessions[]> {
  const sql = `with ended as (${update} returning uuid, org_uuid, has_derived)
    select org_uuid, count(*)::int as revoked, (array_agg(uuid))[1:${mostIds}] as session_ids,
      coalesce(array_agg(uuid) filter (where has_derived), '{}') as sources
    from ended group by org_uuid`;
  await tx.judge();
  const all = new Map<string | null, EndedSessions>();
  for (;;) {
    const ended = await tx.query<EndedSessions>(sql, params);
    if (ended.length === 0) return [...all.values()];
    for (const { org_uuid, revoked, session_ids, sources } of ended) {
      const before = all.get(org_uuid);
      all.set(org_uuid, {
        org_uuid,
        revoked: revoked + (before?.revoked ?? 0),
        session_ids: [...(before?.session_ids ?? []), ...session_ids].slice(0, mostIds),
        sources: [...(before?.sources ?? []), ...sources],
      });
    }
  }
}

/**
 * Frees a session from its source when that is among the sessions `ofSources` names, which end while this one is
 * spared: it would end with it. `ofSources` is over `o` and has its parameters from `$2` on.
 */
export async function detach(tx: Tx, spared: string, ofSources: string, params: readonly unknown[]): Promise<void> {
  const sql = `update sessions s set source_uuid = null, idle_until = null from sessions o where s.uuid = $1 and o.uuid = s.source_uuid and ${ofSources}`;
  await tx.query(sql, [spared, ...params]);
}

/** Ends every live session of a person in an organization. */
export function revokeSessionsIn(
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  reason: string,
  at: Date,
): Promise<EndedSessions[]> {
  const sql = `update sessions set revoked_at = $3, revoked_reason = $4
    where user_uuid = $2 and org_uuid = $1 and revoked_at is null and expires_at > $3`;
  return endTogether(tx, sql, [orgUuid, userUuid, at, reason]);
}

/** Ends every live session in an organization. */
export function revokeSessionsOfOrganization(
  tx: Tx,
  orgUuid: string,
  reason: string,
  at: Date,
): Promise<EndedSessions[]> {
  const sql =
    "update sessions set revoked_at = $2, revoked_reason = $3 where org_uuid = $1 and revoked_at is null and expires_at > $2";
  return endTogether(tx, sql, [orgUuid, at, reason]);
}
