import { newId, totalOf } from "./ledger.ts";
import type { Checkout, Subscription } from "./ledger.ts";

/** An event of Stripe without its envelope. */
export type StripeEvent = [type: string, object: Record<string, unknown>];

/** A session as the API returns it. */
export const printSession = (checkout: Checkout, url: string, paid?: { customer: string; subscription?: string }) => ({
  id: checkout.id,
  object: "checkout.session",
  mode: checkout.interval === null ? "payment" : "subscription",
  status: checkout.status === "paid" ? "complete" : "open",
  payment_status: checkout.status === "paid" ? "paid" : "unpaid",
  amount_total: totalOf(checkout),
  currency: checkout.currency,
  expires_at: checkout.expiresAt,
  success_url: checkout.successUrl,
  cancel_url: checkout.cancelUrl,
  url: checkout.status === "open" ? url : null,
  customer: paid?.customer ?? null,
  subscription: paid?.subscription ?? null,
  payment_intent: checkout.interval === null && paid !== undefined ? newId("pi") : null,
});

/** A subscription as the API returns it. */
export const printStripeSubscription = (subscription: Subscription) => ({
  id: subscription.id,
  object: "subscription",
  customer: subscription.customer,
  status: subscription.status,
  cancel_at_period_end: subscription.isEnding,
  items: { data: [{ current_period_start: subscription.start, current_period_end: subscription.end }] },
});

/** An invoice of a subscription's present period. */
export function printInvoice(subscription: Subscription, id: string, isPaid: boolean) {
  const total = totalOf(subscription.checkout);
  return {
    id,
    object: "invoice",
    customer: subscription.customer,
    currency: subscription.checkout.currency,
    amount_due: total,
    amount_paid: isPaid ? total : 0,
    status: isPaid ? "paid" : "open",
    parent: { subscription_details: { subscription: subscription.id } },
    lines: { data: [{ period: { start: subscription.start, end: subscription.end } }] },
  };
}

/** What Stripe sends when a checkout is paid. */
export function stripePaid(
  checkout: Checkout,
  customer: string,
  subscription: Subscription | undefined,
  paymentId: string,
): StripeEvent[] {
  const session = printSession(checkout, "", {
    customer,
    ...(subscription !== undefined && { subscription: subscription.id }),
  });
  if (subscription === undefined) return [["checkout.session.completed", session]];
  return [
    ["customer.subscription.created", printStripeSubscription(subscription)],
    ["invoice.paid", printInvoice(subscription, paymentId, true)],
    ["checkout.session.completed", session],
  ];
}

/** What Stripe sends when a period of a subscription is paid, or not. */
export const stripeRenewed = (subscription: Subscription, paymentId: string, isPaid: boolean): StripeEvent[] => [
  [isPaid ? "invoice.paid" : "invoice.payment_failed", printInvoice(subscription, paymentId, isPaid)],
  ["customer.subscription.updated", printStripeSubscription(subscription)],
];
