import { dateOf } from "../../../platform/clock.ts";
import { SKIP_REAUTHORIZATION } from "../../../platform/db/types.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { bySystem, EVENTS } from "../../event-catalogue/index.ts";
import type { Cause } from "../../event-catalogue/index.ts";
import type { EndedInstall } from "../../marketplace/index.ts";
import type { BillingDeps } from "../deps.ts";
import { leaveCheckouts } from "../checkout/leaving.ts";
import { openCheckouts } from "../checkout/store.ts";
import { UnknownSubscription } from "../providers/index.ts";
import type { Providers } from "../providers/index.ts";
import * as store from "./store.ts";
import { createUnknownEnd } from "./unknown-end.ts";

/** Outbox topic: an organization was deleted and its subscriptions have to end. Payload: {@link LeftSubscriptions}. */
export const SUBSCRIPTIONS_LEFT = "subscriptions.left";
/** Outbox topic: a subscription has to end at its provider. Payload: {@link LeftSubscription}. */
export const SUBSCRIPTION_LEFT = "subscription.left";

/** Waits before the retries of a call that the provider did not do, milliseconds. */
export const CANCEL_RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 300_000, 1_800_000, 3_600_000];

/** Subscriptions for which one transaction writes messages. */
const BATCH = 100;

/** Payload of {@link SUBSCRIPTIONS_LEFT}. */
export interface LeftSubscriptions {
  org_uuid: string;
  /** Who deleted the organization and from where, for the audit events. */
  by: Cause;
  /** The last subscription of the batch before. */
  after: string | null;
}

/** Payload of {@link SUBSCRIPTION_LEFT}. */
export interface LeftSubscription {
  org_uuid: string;
  subscription_id: string;
  by: Cause;
  reason: string;
}

/** Why a subscription of a deleted organization ends. */
export const ORGANIZATION_DELETED = "organization_deleted";

/** Why a subscription of an install ends that is deprovisioned. */
export const INSTALL_DEPROVISIONED = "install_deprovisioned";

/** Writes the message that ends a subscription at its provider. */
export const leaveSubscription = (tx: Tx, left: LeftSubscription): Promise<void> =>
  tx.emit({ topic: SUBSCRIPTION_LEFT, payload: { ...left } });

/** Subscriptions that end with their organization or their install: nobody is charged for another period. */
export function createSubscriptionEnd(
  deps: Pick<BillingDeps, "database" | "clock" | "events" | "organizations" | "log">,
  providers: Providers,
) {
  const { database, clock, events, log } = deps;
  const endUnknown = createUnknownEnd(deps);

  return {
    /** Ends the subscriptions of an organization, in the transaction that deletes it. */
    async organizationEnds(tx: Tx, orgUuid: string, by: Cause): Promise<void> {
      const { address, userAgent } = by.info;
      const left: LeftSubscriptions = { org_uuid: orgUuid, by: { ...by, info: { address, userAgent } }, after: null };
      await tx.emit({ topic: SUBSCRIPTIONS_LEFT, payload: { ...left } });
    },

    /**
     * Writes the messages of the next batch of a deleted organization's subscriptions, and with the first batch of the
     * checkouts that could still be paid for it; idempotent.
     */
    async leaveBatch({ org_uuid, by, after }: LeftSubscriptions): Promise<void> {
      await database.background.transaction(async (tx) => {
        if (after === null) {
          const at = dateOf(clock);
          await leaveCheckouts(tx, await openCheckouts(tx, org_uuid, at), at);
        }
        const ids = await store.renewingSubscriptions(tx, org_uuid, after, BATCH);
        for (const subscription_id of ids)
          await leaveSubscription(tx, { org_uuid, subscription_id, by, reason: ORGANIZATION_DELETED });
        const last = ids.at(-1);
        if (ids.length === BATCH && last !== undefined)
          await tx.emit({ topic: SUBSCRIPTIONS_LEFT, payload: { org_uuid, by, after: last } });
      }, SKIP_REAUTHORIZATION);
    },

    /**
     * Writes the messages of the subscriptions of an install whose end has begun, and of the checkouts that could still
     * be paid for it; idempotent.
     */
    async installEnds({ org_uuid, install_id }: EndedInstall): Promise<void> {
      await database.background.transaction(async (tx) => {
        const at = dateOf(clock);
        await leaveCheckouts(tx, await openCheckouts(tx, org_uuid, at, install_id), at);
        for (const subscription_id of await store.renewingOfInstall(tx, org_uuid, install_id, BATCH))
          await leaveSubscription(tx, { org_uuid, subscription_id, by: bySystem, reason: INSTALL_DEPROVISIONED });
      }, SKIP_REAUTHORIZATION);
    },

    /**
     * Ends a subscription with its paid period, at its provider and here; one that the provider does not know any more
     * ends here at once; idempotent.
     * @throws {provider_error} when the provider does not do it, {provider_not_configured} while it is not configured
     */
    async cancelLeft({ org_uuid: orgUuid, subscription_id: id, by, reason }: LeftSubscription): Promise<void> {
      const present = await store.findSubscription(database.background, orgUuid, id);
      if (present === undefined || present.status === "canceled" || present.cancelAtPeriodEnd) return;
      try {
        const provider = await providers.get(providers.nameOf(present.provider));
        await providers.call(
          () => provider.cancelSubscription(present.externalId),
          (error) => error instanceof UnknownSubscription,
        );
      } catch (error) {
        const isGone = error instanceof UnknownSubscription;
        log.warn(
          { err: error, org_uuid: orgUuid, subscription_id: id, reason },
          isGone ? "The provider does not know a subscription that has to end" : "A subscription is not cancelled yet",
        );
        if (!isGone) throw error;
        await database.background.transaction(async (tx) => {
          await endUnknown(tx, orgUuid, id, by);
        }, SKIP_REAUTHORIZATION);
        return;
      }
      await database.background.transaction(async (tx) => {
        await store.lockPurchaseOf(tx, orgUuid, id);
        const row = await store.markEnding(tx, orgUuid, id, dateOf(clock));
        if (row === undefined) return;
        await events.emit(tx, EVENTS["subscription.changed"], {
          by,
          orgUuid,
          resourceId: id,
          metadata: { plan: row.plan, cancel_at_period_end: true, reason },
        });
      }, SKIP_REAUTHORIZATION);
    },
  };
}
