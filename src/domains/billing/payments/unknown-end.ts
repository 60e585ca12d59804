import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { EVENTS } from "../../event-catalogue/index.ts";
import type { Cause } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import { paidPlans } from "./effect-store.ts";
import * as store from "./store.ts";
import type { SubscriptionRow } from "./store.ts";

/** Why a subscription ends here that its provider does not know, or not any more. */
const UNKNOWN_AT_PROVIDER = "unknown_at_provider";

/**
 * Creates a function that ends a subscription which its provider does not know, since no event will: the plan of its
 * organization becomes what it pays for otherwise. The function returns undefined when the subscription has ended.
 */
export function createUnknownEnd({
  clock,
  events,
  organizations,
}: Pick<BillingDeps, "clock" | "events" | "organizations">) {
  return async (tx: Tx, orgUuid: string, id: string, by: Cause): Promise<SubscriptionRow | undefined> => {
    // In the order of those who apply events: purchase, organization, subscription.
    await store.lockPurchaseOf(tx, orgUuid, id);
    await organizations.lockAll(tx, [orgUuid]);
    const row = await store.markCanceled(tx, orgUuid, id, dateOf(clock));
    if (row === undefined) return undefined;
    await organizations.setPaidPlans(tx, await paidPlans(tx, [orgUuid]), dateOf(clock));
    await events.emit(tx, EVENTS["subscription.canceled"], {
      by,
      orgUuid,
      resourceId: id,
      metadata: { plan: row.plan, status: row.status, provider: row.provider, reason: UNKNOWN_AT_PROVIDER },
      data: { subscription_id: id, plan: row.plan ?? "" },
    });
    return row;
  };
}
