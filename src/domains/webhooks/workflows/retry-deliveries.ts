import {
  condition,
  continueAsNew,
  defineSignal,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { RetryActivities } from "../activities.ts";

// The worker sends heartbeats, so that the activity of a killed worker is retried after the heartbeat timeout.
const { nextDeliveryRetry, attemptDueDeliveries } = proxyActivities<RetryActivities>({
  startToCloseTimeout: "5m",
  heartbeatTimeout: "15s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s" },
});

/** The endpoint has another retry, or responds again: read the time of the next retry again. */
export const deliveriesChangedSignal = defineSignal("deliveries-changed");

/**
 * Waits until the next retry of an endpoint is due, attempts what is due in batches, and ends when no retry is open.
 * Its cost depends on the number of due times, not of deliveries. Id: `webhook-retries/<webhook_id>`.
 */
export async function retryDeliveries(webhookId: string): Promise<void> {
  let changed = false;
  setHandler(deliveriesChangedSignal, () => {
    changed = true;
  });
  for (;;) {
    // Checked in every iteration: while the next retry is far, signals alone can make the history long. The rows store
    // what is due.
    if (workflowInfo().continueAsNewSuggested && patched("continued-at-every-turn"))
      await continueAsNew<typeof retryDeliveries>(webhookId);
    changed = false;
    const wait = await nextDeliveryRetry(webhookId);
    if (wait === null) {
      if (changed) continue;
      return;
    }
    if (wait > 0 && (await condition(() => changed, wait))) continue;
    await attemptDueDeliveries(webhookId);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof retryDeliveries>(webhookId);
  }
}
