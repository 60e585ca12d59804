import { newId, refundedOf, totalOf } from "./ledger.ts";
import type { Checkout, Payment, Refund, Subscription } from "./ledger.ts";

/** An event of Stripe without its envelope. */
export type StripeEvent = [type: string, object: Record<string, unknown>];

/** A session as the API returns it. */
export const printSession = (
  checkout: Checkout,
  url: string,
  paid?: { customer: string | null; subscription?: string; intent: string },
) => ({
  id: checkout.id,
  object: "checkout.session",
  mode: checkout.interval === null ? "payment" : "subscription",
  status: checkout.status === "paid" ? "complete" : "open",
  payment_status: checkout.status !== "paid" ? "unpaid" : totalOf(checkout) === 0 ? "no_payment_required" : "paid",
  amount_total: totalOf(checkout),
  currency: checkout.currency,
  expires_at: checkout.expiresAt,
  success_url: checkout.successUrl,
  cancel_url: checkout.cancelUrl,
  url: checkout.status === "open" ? url : null,
  customer: paid?.customer ?? checkout.customer,
  subscription: paid?.subscription ?? null,
  payment_intent: checkout.interval === null && totalOf(checkout) > 0 ? (paid?.intent ?? null) : null,
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
function printInvoice(subscription: Subscription, id: string, isPaid: boolean) {
  const total = totalOf(subscription.checkout);
  return {
    id,
    object: "invoice",
    customer: subscription.customer,
    currency: subscription.checkout.currency,
    total,
    amount_due: total,
    amount_paid: isPaid ? total : 0,
    status: isPaid ? "paid" : "open",
    parent: { subscription_details: { subscription: subscription.id } },
    lines: { data: [{ period: { start: subscription.start, end: subscription.end } }] },
  };
}

/** The payment of an invoice by a payment intent: neither of the two names the other. */
export const printInvoicePayment = (payment: Payment) => ({
  id: newId("inpay"),
  object: "invoice_payment",
  invoice: payment.id,
  amount_paid: payment.total,
  amount_requested: payment.total,
  created: payment.at,
  currency: payment.currency,
  is_default: true,
  payment: { type: "payment_intent", payment_intent: payment.intent },
  status: "paid",
});

/** What Stripe sends when an invoice is paid. */
const invoicePaid = (subscription: Subscription, payment: Payment): StripeEvent[] => [
  ["invoice.paid", printInvoice(subscription, payment.id, true)],
  ...(payment.total === 0 ? [] : [["invoice_payment.paid", printInvoicePayment(payment)] satisfies StripeEvent]),
];

/** What Stripe sends when a checkout is paid. */
export function stripePaid(
  checkout: Checkout,
  payment: Payment,
  customer: string | null,
  subscription: Subscription | undefined,
): StripeEvent[] {
  const session = printSession(checkout, "", {
    customer,
    intent: payment.intent,
    ...(subscription !== undefined && { subscription: subscription.id }),
  });
  if (subscription === undefined) return [["checkout.session.completed", session]];
  return [
    ["customer.subscription.created", printStripeSubscription(subscription)],
    ...invoicePaid(subscription, payment),
    ["checkout.session.completed", session],
  ];
}

/** What Stripe sends when a period of a subscription is paid, or not. */
export const stripeRenewed = (subscription: Subscription, payment: Payment): StripeEvent[] => [
  ...(payment.paid
    ? invoicePaid(subscription, payment)
    : [["invoice.payment_failed", printInvoice(subscription, payment.id, false)] satisfies StripeEvent]),
  ["customer.subscription.updated", printStripeSubscription(subscription)],
];

/** What Stripe sends when a payment is paid back, in part or whole. */
export const stripeRefunded = (payment: Payment): StripeEvent => [
  "charge.refunded",
  {
    id: payment.charge,
    object: "charge",
    customer: payment.customer,
    payment_intent: payment.intent,
    currency: payment.currency,
    amount: payment.total,
    amount_refunded: refundedOf(payment),
    refunded: refundedOf(payment) === payment.total,
  },
];

/** What Stripe sends when the money of a refund comes back. */
export const stripeRefundFailed = (payment: Payment, refund: Refund): StripeEvent => [
  "refund.failed",
  {
    id: refund.id,
    object: "refund",
    charge: payment.charge,
    payment_intent: payment.intent,
    currency: payment.currency,
    amount: refund.amount,
    status: "failed",
  },
];
