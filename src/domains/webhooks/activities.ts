import { databaseTime } from "../../platform/db/time.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import type { RetryBatch } from "./failure-recorder.ts";
import { takeRetries } from "./places-store.ts";
import { nextRetryIn } from "./queue-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";
import { lockWebhook } from "./store.ts";

/** Concurrent retries of one endpoint, and rounds of one batch. */
const CONCURRENCY = 8;
const ROUNDS = 5;

/** Idempotent effects of an endpoint's retry workflow. */
export function createRetryActivities(
  { database, clock, config }: Pick<WebhookDeps, "database" | "clock" | "config">,
  { attempt }: Attempt,
) {
  /** Reads once more under a lock, so that a delivery that a transaction is adding to the retries is not missed. */
  const lockedNextRetryIn = (webhookId: string): Promise<number | undefined> =>
    database.transaction(async (tx) => {
      await lockWebhook(tx, webhookId);
      return nextRetryIn(tx, webhookId, databaseTime(clock));
    });

  return {
    /** Milliseconds until the endpoint's next retry is due; null when none is open. */
    async nextDeliveryRetry(webhookId: string): Promise<number | null> {
      const wait =
        (await nextRetryIn(database, webhookId, databaseTime(clock))) ?? (await lockedNextRetryIn(webhookId));
      return wait === undefined ? null : Math.max(0, Math.ceil(wait));
    },

    /** Makes the attempts that are due, one batch at most. */
    async attemptDueDeliveries(webhookId: string): Promise<void> {
      const batch: RetryBatch = { attempted: new Set(), hasSuccess: false };
      const leaseMs = config.timeoutMs + ATTEMPT_SLACK_MS;
      for (let round = 0; round < ROUNDS; round++) {
        // Leased in small rounds, so that a worker that is killed leaves few leases behind.
        const due = await takeRetries(database, webhookId, databaseTime(clock), leaseMs, CONCURRENCY);
        await Promise.all(due.map((delivery) => attempt(delivery, undefined, batch)));
        if (due.length < CONCURRENCY) return;
      }
    },
  };
}

/** The activities as the workflow calls them. */
export type RetryActivities = ReturnType<typeof createRetryActivities>;
