import { dateOf } from "../../../platform/clock.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { bySystem, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { ProviderName } from "../providers/index.ts";
import { fold } from "./fold.ts";
import type { Folded } from "./fold.ts";
import { factsOf, storeCustomer } from "./inbox-store.ts";
import * as store from "./store.ts";
import type { Purchase, SubscriptionRow } from "./store.ts";

type Deps = Pick<BillingDeps, "clock" | "random" | "events" | "organizations" | "marketplace" | "log">;

/** Largest sum of the history: what its column holds. */
const MAX_SHOWN = 2_147_483_647;

/** What payments do: history, subscriptions, plans and installs (decisions 10.6). */
export function createApply({ clock, random, events, organizations, marketplace, log }: Deps) {
  /** Stores the subscription of a purchase; returns it. */
  async function storeSubscription(
    tx: Tx,
    provider: ProviderName,
    purchase: Purchase,
    before: SubscriptionRow | undefined,
    { subscription }: Folded,
  ): Promise<SubscriptionRow | undefined> {
    if (subscription === undefined) return before;
    const dateOrNull = (time: string | undefined): Date | null => (time === undefined ? null : new Date(time));
    const after: SubscriptionRow = {
      subscriptionId: before?.subscriptionId ?? random.uuid(),
      provider,
      externalId: subscription.id,
      priceId: purchase.priceId,
      plan: purchase.plan,
      installId: purchase.installId,
      seats: purchase.seats,
      status: subscription.status,
      currentPeriodStart: dateOrNull(subscription.periodStart),
      currentPeriodEnd: dateOrNull(subscription.periodEnd),
      cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
      createdAt: before?.createdAt ?? dateOf(clock),
    };
    await store.putSubscription(tx, purchase.orgUuid, purchase.quoteId, after);
    return after;
  }

  async function announceSubscription(
    tx: Tx,
    { orgUuid }: Purchase,
    before: SubscriptionRow | undefined,
    after: SubscriptionRow | undefined,
  ): Promise<void> {
    if (after === undefined || before?.status === after.status) return;
    const name =
      after.status === "canceled" ? "canceled" : before === undefined ? ("created" as const) : ("changed" as const);
    const data = { subscription_id: after.subscriptionId, plan: after.plan ?? "" };
    await events.emit(tx, EVENTS[`subscription.${name}`], {
      by: bySystem,
      orgUuid,
      resourceId: after.subscriptionId,
      metadata: { plan: after.plan, status: after.status, provider: after.provider },
      data,
    });
  }

  return {
    /** Brings everything that a purchase touches to what its events say. The quote is locked meanwhile. */
    async apply(tx: Tx, provider: ProviderName, quoteId: string): Promise<void> {
      // Sent together; the server runs them in this order, so that the others read what the lock waited for.
      const [purchase, { facts, hasCustomer }, before, known] = await Promise.all([
        store.lockPurchase(tx, quoteId),
        factsOf(tx, quoteId),
        store.subscriptionOfQuote(tx, quoteId),
        store.paymentStatuses(tx, quoteId),
      ]);
      if (purchase === undefined) return;
      const folded = fold(facts, purchase);
      const after = await storeSubscription(tx, provider, purchase, before, folded);
      const paid = folded.payments.filter(({ matches, status }) => matches && status !== "failed");
      for (const payment of folded.payments) {
        if (!payment.matches && payment.status !== "failed")
          log.warn({ quote_id: quoteId, payment_id: payment.id }, "A payment is not of the quoted sum");
        // No quote has such a sum: it is listed as unmatched, and the history could not show it.
        if (payment.amount > MAX_SHOWN) continue;
        const isFirst = payment.id === (paid[0] ?? folded.payments[0])?.id;
        const at = dateOf(clock);
        await store.putPayment(tx, provider, purchase, payment, after?.subscriptionId ?? null, isFirst, at);
        if (known.get(payment.id) === payment.status || payment.status === "refunded") continue;
        const invoice = EVENTS[payment.status === "paid" ? "invoice.paid" : "invoice.payment_failed"];
        await events.notify(tx, invoice, { orgUuid: purchase.orgUuid, data: { invoice_id: payment.id } });
      }
      if (paid.length > 0)
        await Promise.all([
          store.consumeQuote(tx, quoteId, dateOf(clock)),
          hasCustomer ? storeCustomer(tx, provider, purchase.orgUuid, quoteId) : undefined,
        ]);
      await announceSubscription(tx, purchase, before, after);
      if (purchase.plan !== null) {
        // Sent together, and locked before the read: payments of several purchases end with the plan of the newest.
        const [, plan] = await Promise.all([
          organizations.lock(tx, purchase.orgUuid),
          store.paidPlan(tx, purchase.orgUuid),
        ]);
        await organizations.setPaidPlan(tx, purchase.orgUuid, plan, dateOf(clock));
      }
      if (purchase.installId !== null && paid.length > 0) {
        const ends = [after?.currentPeriodEnd, ...paid.map(({ periodEnd }) => periodEnd && new Date(periodEnd))];
        const latest = Math.max(0, ...ends.map((end) => (end instanceof Date ? end.getTime() : 0)));
        await marketplace.installs.paid(tx, purchase.installId, provider, latest === 0 ? null : new Date(latest));
      }
    },
  };
}

/** What payments do. */
export type Apply = ReturnType<typeof createApply>;
