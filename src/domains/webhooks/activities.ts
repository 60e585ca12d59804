import { databaseTime } from "../../platform/db/time.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Turn } from "./failing.ts";
import { takeRetries } from "./places-store.ts";
import { nextRetryIn } from "./queue-store.ts";
import { ATTEMPT_SLACK_MS } from "./rules.ts";
import { lockWebhook } from "./store.ts";

/** Retries of one endpoint at once, and how often in one batch. */
const AT_ONCE = 8;
const ROUNDS = 5;

/** Idempotent effects of an endpoint's retry workflow. */
export function createRetryActivities(
  { database, clock, config }: Pick<WebhookDeps, "database" | "clock" | "config">,
  { attempt }: Attempt,
) {
  /**
   * What is told at this moment and joins the retries that were open a moment ago is waited for: no workflow would come
   * for it.
   */
  const lastLook = (webhookId: string): Promise<number | undefined> =>
    database.transaction(async (tx) => {
      await lockWebhook(tx, webhookId);
      return nextRetryIn(tx, webhookId, databaseTime(clock));
    });

  return {
    /** Milliseconds until the endpoint's next retry is due; null when none is open. */
    async nextDeliveryRetry(webhookId: string): Promise<number | null> {
      const wait = (await nextRetryIn(database, webhookId, databaseTime(clock))) ?? (await lastLook(webhookId));
      return wait === undefined ? null : Math.max(0, Math.ceil(wait));
    },

    /** Attempts what is due, a batch at most. */
    async attemptDueDeliveries(webhookId: string): Promise<void> {
      const turn: Turn = { attempted: new Set(), answered: false };
      for (let round = 0; round < ROUNDS; round++) {
        // Taken as they are attempted, so that a worker that is killed leaves few behind, and not for long.
        const due = await takeRetries(
          database,
          webhookId,
          databaseTime(clock),
          config.timeoutMs + ATTEMPT_SLACK_MS,
          AT_ONCE,
        );
        await Promise.all(due.map((delivery) => attempt(delivery, undefined, turn)));
        if (due.length < AT_ONCE) return;
      }
    },
  };
}

/** The activities as the workflow sees them. */
export type RetryActivities = ReturnType<typeof createRetryActivities>;
