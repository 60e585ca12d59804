import type { Database } from "../../../platform/db/types.ts";
import { wholeUntil } from "../../../platform/statistics.ts";
import type { BucketRow, StatisticsRange } from "../../../platform/statistics.ts";
import { partsOf } from "./count-rules.ts";

/** Entries of one bucket by outcome. */
export interface OutcomeCounts {
  success: number;
  failure: number;
}

const ALL_USERS = "00000000-0000-0000-0000-000000000000";
const LEVELS = { day: 1, hour: 2, minute: 3 };

/**
 * Counts the entries of an organization by bucket. Linked entries are counted by the totals of the log, of the length
 * of the buckets and, within a last bucket that is not whole, of shorter ones; pending entries and those of the last
 * minute one by one. One statement, so that an entry that is being linked is counted once.
 */
export function countsByBucket(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  range: StatisticsRange,
  type: string | undefined,
): Promise<BucketRow<OutcomeCounts>[]> {
  const whole = wholeUntil(range);
  const parts = [
    { level: LEVELS[range.bucket], from: range.from, to: whole },
    ...partsOf(whole, range.to, "minute").map(({ unit, from, to }) => ({
      level: unit === "event" || unit === "all" ? null : LEVELS[unit],
      from,
      to,
    })),
  ];
  const totals = parts.filter(({ level }) => level !== null);
  const edges = parts.filter(({ level }) => level === null);
  // Pending entries have no totals; those at the edge are counted there.
  const sql = `select date_trunc($2, found.at, 'UTC') as start,
      coalesce(sum(found.events) filter (where found.outcome = 'success'), 0)::int as success,
      coalesce(sum(found.events) filter (where found.outcome = 'failure'), 0)::int as failure
    from (
      select c.bucket as at, c.outcome, c.events
      from unnest($4::smallint[], $5::timestamptz[], $6::timestamptz[]) as part (level, from_at, to_at)
      join audit_counts c on c.org_key = $1 and c.user_key = '${ALL_USERS}' and c.level = part.level
        and c.bucket >= part.from_at and c.bucket < part.to_at and ($3::text is null or c.type = $3)
      union all
      select e.created_at, e.outcome, 1 from audit_pending p
      cross join lateral (
        select x.created_at, x.outcome from audit_events x
        where x.sequence = p.event_sequence and x.created_at >= $7 and x.created_at < $8
          and ($3::text is null or x.type = $3) offset 0) e
      where p.org_key = $1
      union all
      select e.created_at, e.outcome, 1
      from unnest($9::timestamptz[], $10::timestamptz[]) as part (from_at, to_at)
      cross join lateral (
        select x.created_at, x.outcome from audit_events x
        where x.org_uuid = $1 and x.is_auth = any('{true,false}') and x.outcome = any('{success,failure}')
          and x.created_at >= part.from_at and x.created_at < part.to_at and ($3::text is null or x.type = $3)
        offset 0) e
    ) found group by 1`;
  return database.prepared<BucketRow<OutcomeCounts>>("audit_stats", sql, [
    orgUuid,
    range.bucket,
    type ?? null,
    totals.map(({ level }) => level),
    totals.map(({ from }) => from),
    totals.map(({ to }) => to),
    totals[0]?.from ?? range.from,
    totals.at(-1)?.to ?? range.from,
    edges.map(({ from }) => from),
    edges.map(({ to }) => to),
  ]);
}
