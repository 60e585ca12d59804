import { continueAsNew, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { ReconciliationActivities } from "../reconcile/activities.ts";

// The worker sends heartbeats, so that the activity of a killed worker is retried after the heartbeat timeout.
const { planReconciliation, reconcileNextPage } = proxyActivities<ReconciliationActivities>({
  startToCloseTimeout: "5m",
  heartbeatTimeout: "15s",
  // A provider that fails all day does not keep the next day's run from asking the others.
  scheduleToCloseTimeout: "12h",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "5m" },
});

/**
 * Asks the payment providers page by page for events that were missed, and applies these. The row stores how far it has
 * come. Ids: `billing/reconcile/<id>` on demand; started by the schedule it has no row yet and makes its own.
 */
export async function reconcilePayments(id?: string): Promise<void> {
  const run = id ?? (await planReconciliation(workflowInfo().firstExecutionRunId));
  while (await reconcileNextPage(run))
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof reconcilePayments>(run);
}
