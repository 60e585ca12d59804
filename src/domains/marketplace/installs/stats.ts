import { dateOf } from "../../../platform/clock.ts";
import { statisticsRange } from "../../../platform/statistics.ts";
import type { BucketRow, StatisticsQuery, StatisticsRange } from "../../../platform/statistics.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { installsByBucket } from "./stats-store.ts";
import type { InstallCounts } from "./stats-store.ts";

/** Statistics of apps (decisions 17.3). */
export function createStats({ database, clock }: Pick<MarketplaceDeps, "database" | "clock">) {
  return {
    /**
     * What became of the installs of an app, by bucket.
     * @throws {validation_error} when the range cannot be read, or has over 744 buckets
     */
    async stats(
      appId: string,
      query: StatisticsQuery,
    ): Promise<{ range: StatisticsRange; rows: BucketRow<InstallCounts>[] }> {
      const range = statisticsRange(query, dateOf(clock));
      return { range, rows: await installsByBucket(database, appId, range) };
    },
  };
}
