import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { statisticsRange } from "../../platform/statistics.ts";
import type { BucketRow, StatisticsQuery, StatisticsRange } from "../../platform/statistics.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Registration } from "./registration.ts";
import { deliveriesByBucket } from "./stats-store.ts";
import type { DeliveryCounts } from "./stats-store.ts";

/** Statistics of webhooks (decisions 17.3). */
export function createStats(
  { database, clock }: Pick<WebhookDeps, "database" | "clock">,
  registration: Pick<Registration, "read">,
) {
  return {
    /**
     * Deliveries of a webhook by bucket.
     * @throws {not_found} when there is no such webhook
     * @throws {validation_error} when the range cannot be read, or has over 744 buckets
     */
    async stats(
      context: CallerContext,
      webhookId: string,
      query: StatisticsQuery,
    ): Promise<{ range: StatisticsRange; rows: BucketRow<DeliveryCounts>[] }> {
      const range = statisticsRange(query, dateOf(clock));
      await registration.read(context, webhookId);
      return { range, rows: await deliveriesByBucket(database, webhookId, range) };
    },
  };
}
