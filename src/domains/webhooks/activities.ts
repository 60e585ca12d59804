import { dateOf } from "../../platform/clock.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import * as queue from "./queue-store.ts";

/** Retries of one endpoint in one batch, and at once. */
const BATCH = 40;
const AT_ONCE = 8;

/** Idempotent effects of an endpoint's retry workflow. */
export function createRetryActivities({ database, clock, config }: Pick<WebhookDeps, "database" | "clock" | "config">, { attempt }: Attempt) {
  return {
    /** Milliseconds until the endpoint's next retry is due; null when none is open. */
    async nextDeliveryRetry(webhookId: string): Promise<number | null> {
      const next = await queue.nextRetryAt(database, webhookId);
      return next === undefined ? null : Math.max(0, next.getTime() - clock.now());
    },

    /** Attempts what is due, a batch at most. */
    async attemptDueDeliveries(webhookId: string): Promise<void> {
      const lease = dateOf(clock, (BATCH / AT_ONCE) * config.timeoutMs + 30_000);
      const due = await queue.takeRetries(database, webhookId, dateOf(clock), lease, BATCH);
      const waiting = [...due];
      const lane = async (): Promise<void> => {
        for (let delivery = waiting.shift(); delivery !== undefined; delivery = waiting.shift()) await attempt(delivery);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
    },
  };
}

/** The activities as the workflow sees them. */
export type RetryActivities = ReturnType<typeof createRetryActivities>;
