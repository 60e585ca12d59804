import Stripe from "stripe";
import type { Provider } from "../../../platform/config/types.ts";
import { idOf, objectOf, secondsOf, textOf } from "./json.ts";
import { MethodDeclined, TOLERANCE_S, UnknownCustomer, UnknownSubscription, UnsupportedSum } from "./provider.ts";
import type { Order, PaymentProvider, ProviderEvent, StoredMethod } from "./provider.ts";
import { toStripe } from "./stripe-amounts.ts";
import { readStripeFacts, STRIPE_TYPES } from "./stripe-facts.ts";

/** Time for one call, milliseconds. */
const TIMEOUT_MS = 10_000;

/** Stripe through its own SDK. */
export function createStripe({ apiKey, webhookSecret, apiBase }: Provider): PaymentProvider {
  let client: Stripe | undefined;
  const sdk = (): Stripe => (client ??= connect(apiKey, apiBase));

  return {
    name: "stripe",
    signatureHeader: "stripe-signature",

    async openCheckout(order: Order) {
      const session = sessionOf(order);
      // Otherwise a single payment leaves no customer whose portal shows it.
      const anew = order.interval === "once" ? { customer_creation: "always" as const } : {};
      const open = (payer: { customer: string } | typeof anew, idempotencyKey: string) =>
        sdk().checkout.sessions.create({ ...session, ...payer }, { idempotencyKey });
      const { customer, key } = order;
      try {
        const { id, url } = await (customer === undefined
          ? open(anew, key)
          : open({ customer }, key).catch((error: unknown) => {
              // The customer may be gone, or bound to another currency by a subscription: then there is a new one.
              if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
              return open(anew, `${key}-anew`);
            }));
        return { id, url };
      } catch (error) {
        if (isUnsupported(error)) throw new UnsupportedSum("Stripe does not charge this sum", { cause: error });
        throw error;
      }
    },

    async closeCheckout(externalId) {
      try {
        await sdk().checkout.sessions.expire(externalId);
      } catch (error) {
        // One that is paid or has ended cannot be closed.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
      }
    },

    // A session without customer makes one of its own, whatever email is typed.
    customerFor: () => Promise.resolve(undefined),

    async cancelSubscription(externalId) {
      try {
        await sdk().subscriptions.update(externalId, { cancel_at_period_end: true });
      } catch (error) {
        if (isMissing(error)) throw new UnknownSubscription("Stripe has no such subscription", { cause: error });
        throw error;
      }
    },

    async createCustomer(email, key) {
      const customer = await sdk().customers.create(email === null ? {} : { email }, { idempotencyKey: key });
      return customer.id;
    },

    attachMethod: (customer, token) => attach(sdk(), customer, token),

    async detachMethod(_customer, externalId) {
      try {
        await sdk().paymentMethods.detach(externalId);
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
      }
    },

    async openPortal(customer, returnUrl) {
      try {
        return (await sdk().billingPortal.sessions.create({ customer, return_url: returnUrl })).url;
      } catch (error) {
        if (isMissing(error)) throw new UnknownCustomer("Stripe has no such customer", { cause: error });
        throw error;
      }
    },

    async listEvents(from, to, position) {
      const page = await sdk().events.list({
        types: [...STRIPE_TYPES],
        created: { gte: Math.floor(from.getTime() / 1000), lte: Math.ceil(to.getTime() / 1000) },
        limit: 100,
        ...(position !== null && { starting_after: position }),
      });
      const events = page.data.flatMap((raw) => {
        const event = toEvent(raw);
        return event === undefined ? [] : [{ event, body: JSON.stringify(raw) }];
      });
      return { events, next: page.has_more ? (page.data.at(-1)?.id ?? null) : null };
    },

    // A refund names a payment intent, and since 2025-03-31 an invoice names none: only this list has both.
    async listPaymentsOf(ids) {
      const events: { event: ProviderEvent; body: string }[] = [];
      for (const payment_intent of ids.filter((id) => id.startsWith("pi_"))) {
        const payment = { type: "payment_intent" as const, payment_intent };
        const { data } = await sdk().invoicePayments.list({ payment, limit: 100 });
        for (const raw of data) {
          const type = "invoice_payment.paid";
          const said = readStripeFacts(type, raw);
          const event = { eventId: raw.id, type, occurredAt: new Date(raw.created * 1000), ...said };
          events.push({ event, body: JSON.stringify(raw) });
        }
      }
      return events;
    },

    readEvent(body, header, nowMs): ProviderEvent | undefined {
      if (header === null) return undefined;
      try {
        // The SDK checks every v1 signature of the header in constant time, but only for times in the past.
        const event = sdk().webhooks.constructEvent(body, header, webhookSecret, TOLERANCE_S, undefined, nowMs);
        const signedAt = Number(/(?:^|,)\s*t=(\d+)/u.exec(header)?.[1] ?? 0);
        if (Math.abs(nowMs / 1000 - signedAt) > TOLERANCE_S) return undefined;
        return toEvent(event);
      } catch {
        return undefined;
      }
    },
  };
}

function connect(apiKey: string, apiBase: string | undefined): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(apiKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: 1,
    telemetry: false,
    ...(base !== undefined && {
      host: base.hostname,
      port: base.port || (base.protocol === "https:" ? 443 : 80),
      protocol: base.protocol === "https:" ? ("https" as const) : ("http" as const),
    }),
  });
}

/** A checkout session without who pays. @throws UnsupportedSum when Stripe cannot charge it */
function sessionOf(order: Order) {
  const { currency, interval, quoteId, seats, tax, unitAmount } = order;
  const recurring = interval === "once" ? {} : { recurring: { interval } };
  const item = (name: string, amount: number, quantity: number) => ({
    quantity,
    price_data: { currency, unit_amount: toStripe(amount, currency), product_data: { name }, ...recurring },
  });
  // The items may be small enough while their sum is not.
  toStripe(unitAmount * seats + tax, currency);
  return {
    mode: interval === "once" ? ("payment" as const) : ("subscription" as const),
    client_reference_id: quoteId,
    line_items: [item(order.description, unitAmount, seats), ...(tax === 0 ? [] : [item("Tax", tax, 1)])],
    success_url: order.successUrl,
    cancel_url: order.cancelUrl,
    expires_at: Math.floor(order.expiresAt.getTime() / 1000),
    metadata: { quote_id: quoteId },
  };
}

/** Whether Stripe does not know what a call is about, or what one of its parameters names. */
const isMissing = (error: unknown, param?: string): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError &&
  error.code === "resource_missing" &&
  (param === undefined || error.param === param);

/** Whether Stripe does not charge so little or so much, or not in the currency. */
const isUnsupported = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError &&
  (error.code === "amount_too_small" || error.code === "amount_too_large" || /\bcurrency\]?$/u.test(error.param ?? ""));

async function attach(stripe: Stripe, customer: string, token: string): Promise<StoredMethod> {
  try {
    const method = token.startsWith("tok_")
      ? // A token makes one method: the same one again, for another customer.
        await stripe.paymentMethods.create({ type: "card", card: { token } }, { idempotencyKey: `method-${token}` })
      : { id: token };
    const { id, card } = await stripe.paymentMethods.attach(method.id, { customer });
    if (card === undefined) throw new MethodDeclined("the payment method is no card");
    return { externalId: id, brand: card.brand, last4: card.last4, expMonth: card.exp_month, expYear: card.exp_year };
  } catch (error) {
    if (isMissing(error, "customer")) throw new UnknownCustomer("Stripe has no such customer", { cause: error });
    if (error instanceof Stripe.errors.StripeCardError || error instanceof Stripe.errors.StripeInvalidRequestError)
      throw new MethodDeclined("the payment method was declined", { cause: error });
    throw error;
  }
}

function toEvent(event: Stripe.Event): ProviderEvent | undefined {
  const [eventId, type, at] = [textOf(event.id), textOf(event.type), secondsOf(event.created)];
  if (eventId === undefined || type === undefined || at === undefined) return undefined;
  const said = readStripeFacts(type, event.data.object);
  const customer = idOf(objectOf(event.data.object)["customer"]);
  return { eventId, type, occurredAt: new Date(at), ...said, customer };
}
