import { dateOf } from "../../../platform/clock.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/types.ts";
import { statisticsRange } from "../../../platform/statistics.ts";
import type { BucketRow, StatisticsQuery, StatisticsRange } from "../../../platform/statistics.ts";
import { isAuditEventType } from "../../event-catalogue/index.ts";
import { auditErrors } from "../errors.ts";
import { parseRange } from "../rules.ts";
import { countsByBucket } from "./stats-store.ts";
import type { OutcomeCounts } from "./stats-store.ts";

/** Dependencies of the statistics of the log. */
export interface StatsDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
}

/** Statistics of the wider log of an organization (decisions 17.3). */
export function createStats({ database, clock }: StatsDeps) {
  return {
    /**
     * Entries by bucket.
     * @throws {invalid_type} when the log has no such event type
     * @throws {invalid_date_range} when `from` or `to` is no ISO 8601 time, or `from` is after `to`
     * @throws {validation_error} when there are over 744 buckets
     */
    async stats(
      orgUuid: string,
      query: StatisticsQuery & { type?: string | undefined },
    ): Promise<{ range: StatisticsRange; rows: BucketRow<OutcomeCounts>[] }> {
      const type = query.type || undefined;
      if (type !== undefined && !isAuditEventType(type)) throw auditErrors.invalidType();
      const now = dateOf(clock);
      parseRange(query.from, query.to || now.toISOString());
      const range = statisticsRange(query, now);
      return { range, rows: await countsByBucket(database, orgUuid, range, type) };
    },
  };
}
