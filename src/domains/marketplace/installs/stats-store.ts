import type { Database } from "../../../platform/db/types.ts";
import type { BucketRow, StatisticsRange } from "../../../platform/statistics.ts";
import { COUNTED_EVENTS } from "./rules.ts";

/** What became of an app's installs in one bucket. */
export type InstallCounts = Record<(typeof COUNTED_EVENTS)[number], number>;

const sql = `select date_trunc($2, at, 'UTC') as start,
    ${COUNTED_EVENTS.map((event) => `count(*) filter (where event = '${event}')::int as ${event}`).join(", ")}
  from install_timeline where app_id = $1 and event in (${COUNTED_EVENTS.map((event) => `'${event}'`).join(", ")})
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
