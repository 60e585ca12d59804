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

// The worker tells while it works; one that was killed is missed after the heartbeat's time and not after the
// activity's.
const { nextDeliveryRetry, attemptDueDeliveries } = proxyActivities<RetryActivities>({
  startToCloseTimeout: "5m",
  heartbeatTimeout: "15s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s" },
});

/** Another delivery of the endpoint waits, or it answers again: ask anew when the next one is due. */
export const deliveriesChangedSignal = defineSignal("deliveries-changed");

/**
 * Patience for one endpoint: sleeps until its next retry is due, has everything due attempted in batches, ends when
 * nothing is open. Its cost follows due times, not deliveries. Id: `webhook-retries/<webhook_id>`.
 */
export async function retryDeliveries(webhookId: string): Promise<void> {
  let changed = false;
  setHandler(deliveriesChangedSignal, () => {
    changed = true;
  });
  for (;;) {
    // At every turn: signals alone would make the history of an endpoint long whose next retry is far. What is due is
    // in the rows.
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
