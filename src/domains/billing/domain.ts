import { BillingService } from "../../../gen/atrium/billing/v1/billing_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createPoller } from "../../platform/poller.ts";
import { registration } from "../../platform/rpc.ts";
import { WORKFLOW_RETRY_MS } from "../../platform/temporal/workflows.ts";
import type { WorkflowKind } from "../../platform/temporal/workflows.ts";
import type { Events } from "../event-catalogue/index.ts";
import { INSTALL_ENDED } from "../marketplace/index.ts";
import type { EndedInstall, Marketplace } from "../marketplace/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { Rbac } from "../rbac/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { CHECKOUT_LEFT } from "./checkout/leaving.ts";
import type { LeftCheckout } from "./checkout/leaving.ts";
import { CANCEL_RETRY_MS, SUBSCRIPTION_LEFT, SUBSCRIPTIONS_LEFT } from "./payments/ending.ts";
import type { LeftSubscription, LeftSubscriptions } from "./payments/ending.ts";
import { LIST_RETRY_MS, REFUND_RECEIVED } from "./payments/refunds.ts";
import type { ReceivedRefund } from "./payments/refunds.ts";
import { RECONCILIATION_REQUESTED } from "./reconcile/reconcile.ts";
import { createBilling } from "./billing.ts";
import { billingRpc } from "./rpc.ts";

type Below = {
  eventCatalogue: Events;
  signingKeys: Keys;
  rbac: Rbac;
  marketplace: Marketplace;
  organizations: Organizations;
  people: People;
};

/** Asks the providers for events that never came. */
const RECONCILE: WorkflowKind = { type: "reconcilePayments", prefix: "billing/reconcile" };

/** Plans, prices, quotes, checkouts, payments, cards and meters. */
export const billingDomain = defineDomain("billing", (ground: Ground & Below) => {
  const { eventCatalogue: events, signingKeys: keys, config, contexts, workflows, ...below } = ground;
  const { baseUrl, cors, stripe, paddle, ttl } = config;
  const billing = createBilling({
    ...below,
    events,
    keys,
    config: {
      baseUrl,
      corsOrigins: cors.anyLoopback ? "loopback" : cors.origins,
      stripe,
      paddle,
      quoteMs: ttl.quoteMs,
    },
  });
  return {
    ...billing,
    services: [
      registration(BillingService, billingRpc(billing, contexts, RECONCILE.prefix), {
        listHistory: billing.account.demandToRead,
        createCheckoutSession: billing.portal.demandToWrite,
        createPortalSession: billing.portal.demandToWrite,
        addCard: billing.cards.demandPerson,
        setDefaultCard: billing.cards.demandPerson,
        deleteCard: billing.cards.demandPerson,
      }),
    ],
    topics: {
      [RECONCILIATION_REQUESTED]: {
        handle: async ({ id }: Record<string, unknown>) => {
          await workflows.start(RECONCILE, String(id));
        },
        retry: WORKFLOW_RETRY_MS,
        concurrency: 1,
      },
      [REFUND_RECEIVED]: {
        handle: (payload: Record<string, unknown>) => billing.refunds.findPayment(payload as unknown as ReceivedRefund),
        retry: LIST_RETRY_MS,
        concurrency: 1,
      },
      [CHECKOUT_LEFT]: {
        handle: (payload: Record<string, unknown>) => billing.checkoutEnd.close(payload as unknown as LeftCheckout),
        retry: CANCEL_RETRY_MS,
        concurrency: 1,
      },
      [SUBSCRIPTIONS_LEFT]: {
        handle: (payload: Record<string, unknown>) =>
          billing.ending.leaveBatch(payload as unknown as LeftSubscriptions),
        retry: CANCEL_RETRY_MS,
        concurrency: 1,
      },
      [INSTALL_ENDED]: {
        handle: (payload: Record<string, unknown>) => billing.ending.installEnds(payload as unknown as EndedInstall),
        retry: CANCEL_RETRY_MS,
        concurrency: 1,
      },
      [SUBSCRIPTION_LEFT]: {
        handle: (payload: Record<string, unknown>) => billing.ending.cancelLeft(payload as unknown as LeftSubscription),
        retry: CANCEL_RETRY_MS,
        concurrency: 4,
      },
    },
    recoveries: {
      reconciliations: {
        list: billing.reconciliations.waiting,
        start: (id: string) => workflows.start(RECONCILE, id),
      },
    },
    schedules: billing.isConfigured
      ? [{ id: "billing-reconcile", ...RECONCILE, dailyAt: { hour: 3, minute: 17 } }]
      : [],
    pollers: [
      createPoller(ground, {
        name: "billing-events",
        intervalMs: 10_000,
        backOff: { firstMs: 1_000, maxMs: 60_000 },
        run: async () => (await billing.inbox.applyKept()) > 0,
      }),
    ],
  };
});
