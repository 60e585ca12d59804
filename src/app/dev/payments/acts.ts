import { newId, periodEnd, refundedOf, totalOf } from "./ledger.ts";
import type { Checkout, Ledger, Payment, Provider, Refund, SentEvent, Subscription } from "./ledger.ts";
import {
  paddlePaid,
  paddleRefunded,
  paddleRenewed,
  printPaddleSubscription,
  printTransaction,
} from "./paddle-events.ts";
import {
  printStripeSubscription,
  stripePaid,
  stripeRefunded,
  stripeRefundFailed,
  stripeRenewed,
} from "./stripe-events.ts";

/** Creates what people do on the pages of the development payment server. `now` is in seconds since the epoch. */
export function createActs(ledger: Ledger, now: () => number, send: (event: SentEvent) => void) {
  /** Puts an event into the list of its provider, and sends it. */
  function publish(provider: Provider, type: string, data: Record<string, unknown>): SentEvent {
    const [id, at] = [newId("evt"), now()];
    const body =
      provider === "stripe"
        ? { id, object: "event", type, created: at, data: { object: data } }
        : { event_id: id, event_type: type, occurred_at: new Date(at * 1000).toISOString(), data };
    const event = { id, provider, type, at, body };
    ledger.events.push(event);
    send(event);
    return event;
  }

  function publishAll(provider: Provider, events: readonly [string, Record<string, unknown>][]): void {
    for (const [type, data] of events) publish(provider, type, data);
  }

  function record(customer: string, checkout: Checkout, paid: boolean, id: string): Payment {
    const { provider, currency } = checkout;
    const [intent, charge] = [newId("pi"), newId("ch")];
    const total = totalOf(checkout);
    const at = now();
    const payment: Payment = { id, provider, customer, total, currency, at, paid, intent, charge, refunds: [] };
    ledger.payments.push(payment);
    return payment;
  }

  /** At Stripe the invoice, or the session of a single payment; at Paddle the transaction. */
  function paymentId({ provider, id, interval }: Checkout, isFirst: boolean): string {
    if (provider === "stripe" && interval !== null) return newId("in");
    return isFirst ? id : newId("txn");
  }

  return {
    publish,

    /** Whether a checkout can still be paid. */
    isOpen: ({ status, expiresAt }: Checkout): boolean =>
      status === "open" && (expiresAt === null || expiresAt > now()),

    /** Pays a checkout, once. */
    pay(checkout: Checkout): void {
      checkout.status = "paid";
      const { provider, interval } = checkout;
      const customer = checkout.customer ?? newId(provider === "stripe" ? "cus" : "ctm");
      ledger.customers.add(customer);
      const subscription: Subscription | undefined =
        interval === null
          ? undefined
          : {
              id: newId("sub"),
              customer,
              checkout,
              status: "active",
              isEnding: false,
              start: now(),
              end: periodEnd(now(), interval),
            };
      if (subscription !== undefined) ledger.subscriptions.set(subscription.id, subscription);
      const payment = record(customer, checkout, true, paymentId(checkout, true));
      const named = checkout.customer !== null || checkout.makesCustomer ? customer : null;
      publishAll(
        provider,
        provider === "stripe"
          ? stripePaid(checkout, payment, named, subscription)
          : paddlePaid(checkout, customer, subscription),
      );
    },

    /** Fails an attempt to pay; the checkout stays open. */
    decline(checkout: Checkout): void {
      if (checkout.provider === "stripe")
        publish("stripe", "payment_intent.payment_failed", { id: newId("pi"), object: "payment_intent" });
      else publish("paddle", "transaction.payment_failed", printTransaction(checkout, checkout.id, "ready"));
    },

    /** Begins the next period of a subscription, paid or not. */
    renew(subscription: Subscription, isPaid: boolean): void {
      const { checkout } = subscription;
      if (subscription.status === "active") {
        subscription.start = subscription.end;
        subscription.end = periodEnd(subscription.start, checkout.interval ?? "month");
      }
      subscription.status = isPaid ? "active" : "past_due";
      const payment = record(subscription.customer, checkout, isPaid, paymentId(checkout, false));
      publishAll(
        checkout.provider,
        checkout.provider === "stripe"
          ? stripeRenewed(subscription, payment)
          : paddleRenewed(subscription, payment.id, isPaid),
      );
    },

    /** Pays back a sum of a payment, at most what is left of it. */
    refund(payment: Payment, amount: number): Refund {
      const { provider } = payment;
      const sum = Math.min(amount, payment.total - refundedOf(payment));
      const refund = { id: newId(provider === "stripe" ? "re" : "adj"), amount: sum, failed: false };
      payment.refunds.push(refund);
      publishAll(provider, [provider === "stripe" ? stripeRefunded(payment) : paddleRefunded(payment, refund)]);
      return refund;
    },

    /** Lets a refund fail afterwards: the money is back at the seller's. */
    failRefund(payment: Payment, refund: Refund): void {
      const { provider } = payment;
      refund.failed = true;
      publishAll(provider, [
        provider === "stripe" ? stripeRefundFailed(payment, refund) : paddleRefunded(payment, refund),
      ]);
    },

    /** Ends a subscription with its period, or now. */
    cancel(subscription: Subscription, when: "period" | "now"): void {
      subscription.isEnding = true;
      if (when === "now") subscription.status = "canceled";
      const { provider } = subscription.checkout;
      if (provider === "stripe") {
        const type = `customer.subscription.${when === "now" ? "deleted" : "updated"}`;
        publish("stripe", type, printStripeSubscription(subscription));
      } else {
        const type = `subscription.${when === "now" ? "canceled" : "updated"}`;
        publish("paddle", type, printPaddleSubscription(subscription));
      }
    },
  };
}

/** What people do on the pages. */
export type Acts = ReturnType<typeof createActs>;
