import { databaseTime } from "../../platform/db/time.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import type { RetryBatch } from "./failure-recorder.ts";
import { takeRetries } from "./places-store.ts";
import { nextRetryOf } from "./queue-store.ts";
import type { NextRetry } from "./queue-store.ts";
import { AGAIN_MS, createRetryPlaces } from "./retry-places.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";
import { lockWebhook } from "./store.ts";

/** Concurrent retries of one endpoint, and rounds of one batch. */
const CONCURRENCY = 8;
const ROUNDS = 5;

/** Idempotent effects of an endpoint's retry workflow. */
export function createRetryActivities(
  { database, clock, random, config }: Pick<WebhookDeps, "database" | "clock" | "random" | "config">,
  { attempt }: Attempt,
) {
  const places = createRetryPlaces();

  /** Reads once more under a lock, so that a delivery that a transaction is adding to the retries is not missed. */
  const lockedNextRetry = (webhookId: string): Promise<NextRetry | undefined> =>
    database.transaction(async (tx) => {
      await lockWebhook(tx, webhookId);
      return nextRetryOf(tx, webhookId, databaseTime(clock));
    });

  async function attemptDue(webhookId: string): Promise<void> {
    const batch: RetryBatch = { attempted: new Set(), hasSuccess: false };
    const leaseMs = config.timeoutMs + ATTEMPT_SLACK_MS;
    for (let round = 0; round < ROUNDS; round++) {
      // Leased in small rounds, so that a worker that is killed leaves few leases behind.
      const due = await takeRetries(database, webhookId, databaseTime(clock), leaseMs, CONCURRENCY);
      await Promise.all(due.map((delivery) => attempt(delivery, undefined, batch)));
      if (due.length < CONCURRENCY) return;
    }
  }

  return {
    /**
     * Milliseconds until the endpoint's next retry is due, or until it is to ask again while its organization has no
     * place; null when no retry is open.
     */
    async nextDeliveryRetry(webhookId: string): Promise<number | null> {
      const next = (await nextRetryOf(database, webhookId, databaseTime(clock))) ?? (await lockedNextRetry(webhookId));
      if (next === undefined) return null;
      if (next.waitMs > 0) return Math.ceil(next.waitMs);
      return places.hasRoom({ webhookId, orgUuid: next.orgUuid }) ? 0 : random.int(AGAIN_MS.min, AGAIN_MS.max);
    },

    /** Makes the attempts that are due, one batch at most and none while the organization has no place. */
    async attemptDueDeliveries(webhookId: string): Promise<void> {
      const next = await nextRetryOf(database, webhookId, databaseTime(clock));
      if (next === undefined) return;
      const endpoint = { webhookId, orgUuid: next.orgUuid };
      if (!places.enter(endpoint)) return;
      try {
        await attemptDue(webhookId);
      } finally {
        places.leave(endpoint);
      }
    },
  };
}

/** The activities as the workflow calls them. */
export type RetryActivities = ReturnType<typeof createRetryActivities>;
