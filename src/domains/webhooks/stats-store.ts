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

/** Counts of settled deliveries: each part reads one range of the index of the lists. */
const counts = (["delivered", "failed"] as const)
  .flatMap((status) =>
    PARTS[status].map(
      ({ from, where }) => `select d.created_at as at, '${status}' as status from ${from} cross join lateral (
        select d.created_at from webhook_deliveries d
        where ${where} and d.created_at >= $3 and d.created_at < $4) d where w.webhook_id = $1`,
    ),
  )
  .join(" union all ");

const countsSql = `select date_trunc($2, settled.at, 'UTC') as start,
    count(*) filter (where settled.status = 'delivered')::int as delivered,
    count(*) filter (where settled.status = 'failed')::int as failed
  from (${counts}) settled group by 1`;

const within = "d.created_at >= b.start and d.created_at < least(b.start + $3::interval, $4::timestamptz)";
const sampled = Object.values(PARTS)
  .flat()
  .map(({ from, where }) => `(${firstOf({ from, where: `${where} and ${within}` }, String(SAMPLE))})`)
  .join(" union all ");

const percentilesSql = `select b.start,
    percentile_disc(0.5) within group (order by (a.attempt ->> 'duration_ms')::int) as "p50Ms",
    percentile_disc(0.95) within group (order by (a.attempt ->> 'duration_ms')::int) as "p95Ms"
  from unnest($2::timestamptz[]) as b (start)
  cross join lateral (${sampled}) s
  join webhook_deliveries d on d.delivery_id = s.delivery_id
  cross join lateral jsonb_array_elements(d.attempts) as a (attempt)
  group by b.start`;

/** Deliveries of a webhook by bucket, by the time of their events. */
export async function deliveriesByBucket(
  database: Pick<Database, "prepared">,
  webhookId: string,
  { from, to, bucket, starts }: StatisticsRange,
): Promise<BucketRow<DeliveryCounts>[]> {
  const counted = await database.prepared<BucketRow<DeliveryCounts>>("webhook-stats", countsSql, [
    webhookId,
    bucket,
    from,
    to,
  ]);
  const durations = await database.prepared<{ start: Date; p50Ms: number; p95Ms: number }>(
    "webhook-stats-durations",
    percentilesSql,
    [webhookId, starts, `1 ${bucket}`, to],
  );
  const rows = new Map(durations.map((row) => [row.start.getTime(), { delivered: 0, failed: 0, ...row }]));
  for (const row of counted) rows.set(row.start.getTime(), { ...rows.get(row.start.getTime()), ...row } as never);
  return [...rows.values()];
}
