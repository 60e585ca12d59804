import { newId, periodEnd, totalOf } from "./ledger.ts";
import type { Checkout, Ledger, Provider, SentEvent, Subscription } from "./ledger.ts";
import { paddlePaid, paddleRenewed, printPaddleSubscription, printTransaction } from "./paddle-events.ts";
import { printStripeSubscription, stripePaid, stripeRenewed } from "./stripe-events.ts";

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

  function record(customer: string, checkout: Checkout, paid: boolean, id: string): void {
    ledger.payments.push({ id, customer, total: totalOf(checkout), currency: checkout.currency, at: now(), paid });
  }

  const paymentId = ({ provider, id }: Checkout, isFirst: boolean): string =>
    provider === "stripe" ? newId("in") : isFirst ? id : newId("txn");

  return {
    publish,

    /** Whether a checkout can still be paid. */
    isOpen: ({ status, expiresAt }: Checkout): boolean =>
      status === "open" && (expiresAt === null || expiresAt > now()),

    /** Pays a checkout, once. */
    pay(checkout: Checkout): void {
      checkout.status = "paid";
      const { provider, interval } = checkout;
      const customer = newId(provider === "stripe" ? "cus" : "ctm");
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
      const id = paymentId(checkout, true);
      record(customer, checkout, true, id);
      publishAll(
        provider,
        provider === "stripe"
          ? stripePaid(checkout, customer, subscription, id)
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
      const id = paymentId(checkout, false);
      record(subscription.customer, checkout, isPaid, id);
      publishAll(
        checkout.provider,
        checkout.provider === "stripe"
          ? stripeRenewed(subscription, id, isPaid)
          : paddleRenewed(subscription, id, isPaid),
      );
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
