import type { Reconciliations } from "./reconcile.ts";

/** Idempotent effects of the workflow that reconciles payments. */
export function createReconciliationActivities({ plan, nextPage }: Pick<Reconciliations, "plan" | "nextPage">) {
  return {
    /** Stores a reconciliation of the usual period under an id; returns the id. */
    planReconciliation: plan,
    /** Applies what was missed of the next page; false when there is none. */
    reconcileNextPage: nextPage,
  };
}

/** The activities as the workflow calls them. */
export type ReconciliationActivities = ReturnType<typeof createReconciliationActivities>;
