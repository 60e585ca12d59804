import type { CallerContext } from "../../../platform/context.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import { billingErrors } from "../errors.ts";
import * as store from "./store.ts";
import type { PlanRow } from "./store.ts";

/** Maximum number of plans. */
const MAX_PLANS = 1_000;

/** Plans of organizations (decisions 10.2). */
export function createPlans({ database, events }: Pick<BillingDeps, "database" | "events">) {
  return {
    /** Every plan, by its name. */
    list: (): Promise<PlanRow[]> => store.allPlans(database, MAX_PLANS),

    /** Sets a plan, or makes a new one; organizations that have it get its features with their next token. */
    set: async (context: CallerContext, plan: PlanRow): Promise<PlanRow> => {
      await context.transaction(async (tx) => {
        if (!(await store.putPlan(tx, plan, MAX_PLANS))) throw billingErrors.tooManyPlans();
        await events.emit(tx, EVENTS["plan.updated"], {
          by: causedBy(context),
          orgUuid: context.caller.orgUuid,
          resourceId: plan.plan,
          metadata: { plan: plan.plan, name: plan.name, features: plan.features },
        });
      });
      return plan;
    },
  };
}
