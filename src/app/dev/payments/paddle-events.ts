import { totalOf } from "./ledger.ts";
import type { Checkout, Payment, Refund, Subscription } from "./ledger.ts";

/** An event of Paddle without its envelope. */
export type PaddleEvent = [type: string, data: Record<string, unknown>];

const time = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** A transaction as the API returns it. */
export function printTransaction(
  checkout: Checkout,
  id: string,
  status: "ready" | "completed" | "past_due" | "canceled",
  rest: { url?: string; customer?: string; subscription?: Subscription } = {},
) {
  const total = String(totalOf(checkout));
  const { subscription } = rest;
  return {
    id,
    status,
    customer_id: rest.customer ?? null,
    subscription_id: subscription?.id ?? null,
    origin: id === checkout.id ? "api" : "subscription_recurring",
    currency_code: checkout.currency.toUpperCase(),
    collection_mode: "automatic",
    items: [],
    payments: [],
    details: {
      tax_rates_used: [],
      totals: { total, credit: "0", grand_total: total, currency_code: checkout.currency.toUpperCase() },
      line_items: [],
    },
    billing_period:
      subscription === undefined ? null : { starts_at: time(subscription.start), ends_at: time(subscription.end) },
    checkout: { url: rest.url ?? null },
  };
}

/** A subscription as the API returns it. */
export const printPaddleSubscription = (subscription: Subscription, transactionId?: string) => ({
  id: subscription.id,
  status: subscription.status,
  customer_id: subscription.customer,
  currency_code: subscription.checkout.currency.toUpperCase(),
  ...(transactionId !== undefined && { transaction_id: transactionId }),
  current_billing_period: { starts_at: time(subscription.start), ends_at: time(subscription.end) },
  billing_cycle: { interval: subscription.checkout.interval, frequency: 1 },
  scheduled_change: subscription.isEnding
    ? { action: "cancel", effective_at: time(subscription.end), resume_at: null }
    : null,
  items: [],
});

/** What Paddle sends when a checkout is paid. */
export function paddlePaid(
  checkout: Checkout,
  customer: string,
  subscription: Subscription | undefined,
): PaddleEvent[] {
  const transaction = printTransaction(checkout, checkout.id, "completed", {
    customer,
    ...(subscription !== undefined && { subscription }),
  });
  const completed: PaddleEvent = ["transaction.completed", transaction];
  if (subscription === undefined) return [completed];
  return [["subscription.created", printPaddleSubscription(subscription, checkout.id)], completed];
}

/** What Paddle sends when a period of a subscription is paid, or not. */
export const paddleRenewed = (subscription: Subscription, paymentId: string, isPaid: boolean): PaddleEvent[] => [
  [
    isPaid ? "transaction.completed" : "transaction.payment_failed",
    printTransaction(subscription.checkout, paymentId, isPaid ? "completed" : "past_due", {
      customer: subscription.customer,
      subscription,
    }),
  ],
  ["subscription.updated", printPaddleSubscription(subscription)],
];

/** What Paddle sends when a payment is paid back, in part or whole, and when that is taken back. */
export const paddleRefunded = (payment: Payment, { id, amount, failed }: Refund): PaddleEvent => [
  failed ? "adjustment.updated" : "adjustment.created",
  {
    id,
    action: "refund",
    type: amount === payment.total ? "full" : "partial",
    transaction_id: payment.id,
    customer_id: payment.customer,
    currency_code: payment.currency.toUpperCase(),
    status: failed ? "reversed" : "approved",
    totals: { total: String(amount), currency_code: payment.currency.toUpperCase() },
    items: [],
  },
];
