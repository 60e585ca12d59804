import { BATCH } from "../../platform/db/batched-updates.ts";
import type { Tx } from "../../platform/db/types.ts";

/** Sessions of one organization, or of none, that ended together. */
export interface EndedSessions {
  orgUuid: string | null;
  revoked: number;
  /** Some of them, 100 at most. */
  sessionIds: string[];
  /** Those that others were derived from, which ended with them. */
  sources: string[];
}

/** A session that ended with the one it was derived from. */
export interface DerivedSession {
  uuid: string;
  sourceUuid: string;
  userUuid: string;
  orgUuid: string | null;
  /** Organization of the session that ended first, which it was derived from in some generation. */
  endedInOrgUuid: string | null;
}

/** Maximum number of derived sessions that are recorded one by one. */
const MAX_RECORDED = 1_000;

/** The sessions that ended together with `sources`, which have ended in this transaction, in every generation. */
export function derivedEnded(tx: Tx, sources: readonly string[]): Promise<DerivedSession[]> {
  const columns = "s.uuid, s.source_uuid, s.user_uuid, s.org_uuid, s.revoked_at";
  // The trigger gives a derived session the time at which its source ended.
  const endedWith = (source: string) => `s.source_uuid = ${source}.uuid and s.revoked_at = ${source}.revoked_at
    and s.revoked_reason = 'source_ended'`;
  return tx.query<DerivedSession>(
    `with recursive line as (
       select ${columns}, first.org_uuid as ended_in from sessions first join sessions s on ${endedWith("first")}
         where first.uuid = any($1::uuid[])
       union all select ${columns}, line.ended_in from line join sessions s on ${endedWith("line")}
     ) select uuid, source_uuid as "sourceUuid", user_uuid as "userUuid", org_uuid as "orgUuid",
       ended_in as "endedInOrgUuid"
     from line limit ${MAX_RECORDED}`,
    [sources],
  );
}

/** Maximum number of ids in the event for sessions that ended together. */
const MAX_IDS = 100;

/** SQL, over the same parameters, of which sessions end together, when and why. */
export interface EndTogether {
  where: string;
  at: string;
  reason: string;
}

/**
 * Ends those of some sessions that are live; returns them by organization. One statement is not enough: it does not see
 * a session that was committed while it waited for a lock, and an organization may have any number of sessions.
 */
export async function endTogether(
  tx: Tx,
  { where, at, reason }: EndTogether,
  params: readonly unknown[],
): Promise<EndedSessions[]> {
  const live = `revoked_at is null and expires_at > ${at}`;
  // Locks on the rows of a batch would double its cost. A session that another transaction ends meanwhile counts as
  // tried, and is not ended again.
  const sql = `with batch as materialized (
      select uuid from sessions where ${where} and ${live} limit ${BATCH}
    ), ended as (
      update sessions set revoked_at = ${at}, revoked_reason = ${reason} from batch
      where sessions.uuid = batch.uuid and ${live}
      returning sessions.uuid, org_uuid, has_derived
    ), totals as (
      select org_uuid, count(*)::int as revoked, (array_agg(uuid))[1:${MAX_IDS}] as ids,
        coalesce(array_agg(uuid) filter (where has_derived), '{}') as sources
      from ended group by org_uuid
    ) select org_uuid as "orgUuid", coalesce(revoked, 0) as revoked, ids as "sessionIds", sources
    from (select count(*) as rows from batch) as tried left join totals on true where tried.rows > 0`;
  await tx.reauthorize();
  const all = new Map<string | null, EndedSessions>();
  for (;;) {
    const tried = await tx.query<EndedSessions>(sql, params);
    if (tried.length === 0) return [...all.values()];
    for (const { orgUuid, revoked, sessionIds, sources } of tried) {
      if (revoked === 0) continue;
      const before = all.get(orgUuid);
      all.set(orgUuid, {
        orgUuid,
        revoked: revoked + (before?.revoked ?? 0),
        sessionIds: [...(before?.sessionIds ?? []), ...sessionIds].slice(0, MAX_IDS),
        sources: [...(before?.sources ?? []), ...sources],
      });
    }
  }
}

/**
 * Frees a session from its source when that, or one it was derived from in turn, is among the sessions `ofSources`
 * names, which end while this one is spared: it would end with it. `ofSources` is over `o`, which has `uuid` and
 * `user_uuid`, and has its parameters from `$2` on. Reauthorizes the caller first, whose membership must be locked
 * before a session.
 */
export async function detach(tx: Tx, spared: string, ofSources: string, params: readonly unknown[]): Promise<void> {
  const columns = "o.uuid, o.user_uuid, o.source_uuid";
  const sql = `with recursive line as (
      select ${columns} from sessions s join sessions o on o.uuid = s.source_uuid where s.uuid = $1
      union select ${columns} from line join sessions o on o.uuid = line.source_uuid
    )
    update sessions set source_uuid = null, idle_until = null
    where uuid = $1 and exists (select from line o where ${ofSources})`;
  await tx.reauthorize();
  await tx.query(sql, [spared, ...params]);
}

/**
 * Ends the live sessions in an organization, then those elsewhere that its identity provider opened and that did not
 * end with their source.
 */
async function endThereAndElsewhere(tx: Tx, where: string, params: readonly unknown[]): Promise<EndedSessions[]> {
  const end = (column: string): Promise<EndedSessions[]> =>
    endTogether(tx, { where: `${column} = $1 ${where}`, at: "$2", reason: "$3" }, params);
  return [...(await end("org_uuid")), ...(await end("provider_org_uuid"))];
}

/** Ends every live session of a person in an organization, and those that its identity provider opened elsewhere. */
export const revokeSessionsIn = (
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  reason: string,
  at: Date,
): Promise<EndedSessions[]> => endThereAndElsewhere(tx, "and user_uuid = $4", [orgUuid, at, reason, userUuid]);

/** Ends every live session in an organization, and those that its identity provider opened elsewhere. */
export const revokeSessionsOfOrganization = (
  tx: Tx,
  orgUuid: string,
  reason: string,
  at: Date,
): Promise<EndedSessions[]> => endThereAndElsewhere(tx, "", [orgUuid, at, reason]);

/** Ends the live ones among some sessions. */
export function revokeChosenSessions(
  tx: Tx,
  uuids: readonly string[],
  reason: string,
  at: Date,
): Promise<EndedSessions[]> {
  return endTogether(tx, { where: "uuid = any($1::uuid[])", at: "$2", reason: "$3" }, [uuids, at, reason]);
}
