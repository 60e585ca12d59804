import { pagingBy } from "../../../platform/cursors.ts";
import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Page } from "../../../platform/db/paging.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { DemandPermission } from "../../rbac/index.ts";
import { billingErrors } from "../errors.ts";
import { UnknownSubscription } from "../providers/index.ts";
import type { Providers } from "../providers/index.ts";
import * as store from "./store.ts";
import type { SubscriptionRow } from "./store.ts";
import { createUnknownEnd } from "./unknown-end.ts";

/** Payments and subscriptions as their organization sees them (decisions 10.7). */
export function createAccount(deps: BillingDeps, providers: Providers, demand: DemandPermission) {
  const { database, clock, events, cursors } = deps;
  const endUnknown = createUnknownEnd(deps);

  /** Whether a subscription should have ended: its period is over, and it does not renew. */
  const isOverdue = ({ cancelAtPeriodEnd, currentPeriodEnd }: SubscriptionRow): boolean =>
    cancelAtPeriodEnd && currentPeriodEnd !== null && currentPeriodEnd.getTime() <= clock.now();

  return {
    /** @throws {forbidden} without the permission `billing:read` */
    demandToRead: async (caller: Caller | undefined): Promise<void> => {
      if (caller !== undefined) await demand(caller, "billing:read");
    },

    /** Payments, newest first. */
    history: ({ caller }: CallerContext, status: string | undefined, page: Page) => {
      const orgUuid = callerOrg(caller);
      const paging = pagingBy(cursors, ["payments", orgUuid, status], page);
      return store.paymentsOf(database, orgUuid, status, page, paging);
    },

    /** Subscriptions, newest first. */
    subscriptions: ({ caller }: CallerContext, status: string | undefined, page: Page) =>
      store.subscriptionsOf(database, callerOrg(caller), status, page),

    /**
     * Ends a subscription with its paid period; one that the provider does not know any more, at once.
     * @throws {not_found} when the organization has no such subscription that lives
     * @throws {provider_error} when the provider does not do it
     */
    async cancel(context: CallerContext, id: string): Promise<SubscriptionRow> {
      const orgUuid = callerOrg(context.caller);
      const present = await store.findSubscription(database, orgUuid, id);
      if (present === undefined || present.status === "canceled") throw billingErrors.subscriptionNotFound();
      // The event of an end may have been missed: whoever asks again learns whether the provider knows it.
      if (present.cancelAtPeriodEnd && !isOverdue(present)) return present;
      const provider = await providers.get(providers.nameOf(present.provider));
      const isUnknown = (error: unknown): boolean => error instanceof UnknownSubscription;
      const isKnown = await providers
        .call(() => provider.cancelSubscription(present.externalId), isUnknown)
        .then(() => true)
        .catch((error: unknown) => {
          if (isUnknown(error)) return false;
          throw error;
        });
      return context.transaction(async (tx) => {
        if (!isKnown) {
          const ended = await endUnknown(tx, orgUuid, id, causedBy(context));
          if (ended === undefined) throw billingErrors.subscriptionNotFound();
          return ended;
        }
        await store.lockPurchaseOf(tx, orgUuid, id);
        const row = await store.markEnding(tx, orgUuid, id, dateOf(clock));
        if (row === undefined) throw billingErrors.subscriptionNotFound();
        await events.emit(tx, EVENTS["subscription.changed"], {
          by: causedBy(context),
          orgUuid,
          resourceId: id,
          metadata: { plan: row.plan, cancel_at_period_end: true },
        });
        return row;
      });
    },
  };
}
