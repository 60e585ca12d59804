import type { Database } from "../../platform/db/types.ts";
import type { BucketRow, StatisticsRange } from "../../platform/statistics.ts";
import { firstOf, PARTS } from "./delivery-store.ts";

/** Deliveries of one bucket. */
export interface DeliveryCounts {
  delivered: number;
  failed: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** Deliveries of each status whose attempts the percentiles of a bucket are made of: the newest. */
const SAMPLE = 200;

const within = "d.created_at >= b.start and d.created_at < least(b.start + $3::interval, $4::timestamptz)";
/** Counts of settled deliveries of a bucket: each part reads one range of the index of the lists, and nothing else. */
const counted = (status: "delivered" | "failed"): string =>
  PARTS[status]
    .map(
      ({ from, where }) => `(select count(*) from ${from} cross join lateral (
        select 1 from webhook_deliveries d where ${where} and ${within}) d where w.webhook_id = $1)`,
    )
    .join(" + ");

const countsSql = `select b.start, (${counted("delivered")})::int as delivered, (${counted("failed")})::int as failed
  from unnest($2::timestamptz[]) as b (start)`;

const sampled = Object.values(PARTS)
  .flat()
  .map(({ from, where }) => `(${firstOf({ from, where: `${where} and ${within}` }, String(SAMPLE))})`)
  .join(" union all ");

// One look-up for each: PostgreSQL expects far more of them than there are, and would join the whole table.
const percentilesSql = `select b.start, p.* from unnest($2::timestamptz[]) as b (start)
  cross join lateral (
    select percentile_disc(0.5) within group (order by (a.attempt ->> 'duration_ms')::int) as "p50Ms",
      percentile_disc(0.95) within group (order by (a.attempt ->> 'duration_ms')::int) as "p95Ms"
    from (${sampled}) s
    cross join lateral (select attempts from webhook_deliveries where delivery_id = s.delivery_id limit 1) d
    cross join lateral jsonb_array_elements(d.attempts) as a (attempt)) p
  where p."p50Ms" is not null`;

/** Deliveries of a webhook by bucket, by the time of their events. */
export async function deliveriesByBucket(
  database: Pick<Database, "prepared">,
  webhookId: string,
  { to, bucket, starts }: StatisticsRange,
): Promise<BucketRow<DeliveryCounts>[]> {
  const range = [webhookId, starts, `1 ${bucket}`, to];
  const counts = await database.prepared<BucketRow<DeliveryCounts>>("webhook-stats", countsSql, range);
  const durations = await database.prepared<{ start: Date; p50Ms: number; p95Ms: number }>(
    "webhook-stats-durations",
    percentilesSql,
    range,
  );
  const rows = new Map(durations.map((row) => [row.start.getTime(), row]));
  return counts.map((row) => ({ ...row, ...rows.get(row.start.getTime()) }));
}
