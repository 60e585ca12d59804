import type { Database } from "../../platform/db/types.ts";
import type { BucketRow, StatisticsRange } from "../../platform/statistics.ts";
import { firstOf, PARTS } from "./delivery-store.ts";
import type { Part } from "./delivery-store.ts";

/** Deliveries of one bucket. */
export interface DeliveryCounts {
  delivered: number;
  failed: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** Deliveries of each status whose attempts make the percentiles, over all buckets: of each the newest, 5 to 200. */
const SAMPLES = 3_200;
const sampleOf = (buckets: number): number => Math.min(200, Math.max(5, Math.floor(SAMPLES / buckets)));

/** Deliveries of each earlier generation that are counted before the cleanup has failed their rows. */
const MOST_OVER = 10_000;
const HOUR_MS = 3_600_000;

const [delivered] = PARTS.delivered;
const [failed, over] = PARTS.failed;
const later = "d.created_at >= $3::timestamptz and d.created_at < $5::timestamptz";
const settledLater = ({ from, where }: Part): string =>
  `select 1 from ${from} cross join lateral (select 1 from webhook_deliveries d where ${where} and ${later}) d
   where w.webhook_id = $1`;
const inRange = "d.created_at >= ($2::timestamptz[])[1] and d.created_at < $3::timestamptz";

/**
 * The tallies of the hours from the first bucket to the one in which the range ends, without what that has afterwards,
 * and with deliveries that are failed though their rows are not yet. Tallies are purged before the last deliveries.
 */
const countsSql = `with found as (
    select hour as at, delivered, failed from webhook_tallies
    where webhook_id = $1 and hour >= ($2::timestamptz[])[1] and hour < $3::timestamptz
    union all
    select $4::timestamptz, -(select count(*) from (${settledLater(delivered)}) d), 0
    union all
    select $4::timestamptz, 0, -(select count(*) from (${settledLater(failed)}) d)
    union all
    select d.created_at, 0, 1 from (${firstOf({ ...over, where: `${over.where} and ${inRange}` }, String(MOST_OVER))}) d
  )
  select ($2::timestamptz[])[width_bucket(at, $2::timestamptz[])] as start,
    greatest(sum(delivered), 0)::int as delivered, greatest(sum(failed), 0)::int as failed
  from found where at >= ($2::timestamptz[])[1] group by 1`;

const within = "d.created_at >= b.start and d.created_at < least(b.start + $3::interval, $4::timestamptz)";
const sampled = Object.values(PARTS)
  .flat()
  .map(
    ({ from, where }) => `(select d.attempts from ${from} cross join lateral (
      select d.attempts from webhook_deliveries d where ${where} and ${within}
      order by d.created_at desc, d.delivery_id limit $5::int) d where w.webhook_id = $1)`,
  )
  .join(" union all ");

const percentilesSql = `select b.start, p.* from unnest($2::timestamptz[]) as b (start)
  cross join lateral (
    select percentile_disc(0.5) within group (order by (a.attempt ->> 'duration_ms')::int) as "p50Ms",
      percentile_disc(0.95) within group (order by (a.attempt ->> 'duration_ms')::int) as "p95Ms"
    from (${sampled}) s cross join lateral jsonb_array_elements(s.attempts) as a (attempt)) p
  where p."p50Ms" is not null`;

/** Deliveries of a webhook by bucket, by the time of their events. */
export async function deliveriesByBucket(
  database: Pick<Database, "prepared">,
  webhookId: string,
  { to, bucket, starts }: StatisticsRange,
): Promise<BucketRow<DeliveryCounts>[]> {
  if (starts.length === 0) return [];
  const hours = to.getTime() / HOUR_MS;
  const [lastHour, end] = [new Date(Math.floor(hours) * HOUR_MS), new Date(Math.ceil(hours) * HOUR_MS)];
  const [counts, durations] = await Promise.all([
    database.prepared<{ start: Date; delivered: number; failed: number }>("webhook-stats", countsSql, [
      webhookId,
      starts,
      to,
      lastHour,
      end,
    ]),
    database.prepared<{ start: Date; p50Ms: number; p95Ms: number }>("webhook-stats-durations", percentilesSql, [
      webhookId,
      starts,
      `1 ${bucket}`,
      to,
      sampleOf(starts.length),
    ]),
  ]);
  const rows = new Map(counts.map((row) => [row.start.getTime(), row as BucketRow<DeliveryCounts>]));
  for (const { start, ...percentiles } of durations)
    rows.set(start.getTime(), { delivered: 0, failed: 0, ...rows.get(start.getTime()), start, ...percentiles });
  return [...rows.values()];
}
