import type { Database } from "../../../platform/db/types.ts";
import type { BucketRow, StatisticsRange } from "../../../platform/statistics.ts";

/** What became of an app's installs in one bucket. */
export interface InstallCounts {
  requested: number;
  active: number;
  failed: number;
  deprovisioned: number;
}

const EVENTS = ["requested", "active", "failed", "deprovisioned"] as const satisfies readonly (keyof InstallCounts)[];

const sql = `select date_trunc($2, at, 'UTC') as start,
    ${EVENTS.map((event) => `count(*) filter (where event = '${event}')::int as ${event}`).join(", ")}
  from install_timeline where app_id = $1 and event in (${EVENTS.map((event) => `'${event}'`).join(", ")})
    and at >= $3 and at < $4
  group by 1`;

/** What became of the installs of an app, by bucket; reads a range of one index. */
export function installsByBucket(
  database: Pick<Database, "prepared">,
  appId: string,
  { from, to, bucket }: StatisticsRange,
): Promise<BucketRow<InstallCounts>[]> {
  return database.prepared<BucketRow<InstallCounts>>("app-stats", sql, [appId, bucket, from, to]);
}
