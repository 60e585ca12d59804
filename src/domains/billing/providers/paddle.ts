import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError, LogLevel, Paddle } from "@paddle/paddle-node-sdk";
import type { CurrencyCode, Environment } from "@paddle/paddle-node-sdk";
import type { Provider } from "../../../platform/config/types.ts";
import { objectOf, textOf, timeOf } from "./json.ts";
import type { Unknown } from "./json.ts";
import { readPaddleFacts } from "./paddle-facts.ts";
import { MethodDeclined, TOLERANCE_S, UnknownCustomer, UnknownSubscription, UnsupportedSum } from "./provider.ts";
import type { Order, PaymentProvider, ProviderEvent } from "./provider.ts";
import { isRefusal } from "./refusal.ts";

/** Time for one call, milliseconds: the SDK sets none. */
const TIMEOUT_MS = 10_000;
/** Events of one page: the most that Paddle lists. */
const PER_PAGE = 200;
/** Characters of the name of a price, at most: fewer than of that of a product. */
const MAX_PRICE_NAME = 150;
/** An id of a payment method, as a caller gives it. */
const METHOD_ID = /^paymtd_\w+$/u;

/** Paddle through its own SDK, and its signature scheme as documented by Paddle. */
export function createPaddle({ apiKey, webhookSecret, apiBase }: Provider): PaymentProvider {
  let client: Paddle | undefined;
  const sdk = (): Paddle =>
    (client ??= new Paddle(apiKey, {
      logLevel: LogLevel.none,
      // The SDK takes any base URL where it expects the name of an environment.
      ...(apiBase !== undefined && { environment: apiBase.replace(/\/$/u, "") as Environment }),
    }));

  async function isActive(customer: string): Promise<boolean> {
    try {
      return (await inTime(sdk().customers.get(customer))).status !== "archived";
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  return {
    name: "paddle",
    signatureHeader: "paddle-signature",

    async openCheckout(order: Order) {
      const payer = order.customer === undefined ? {} : { customerId: order.customer };
      try {
        const { id, checkout } = await inTime(sdk().transactions.create({ ...transactionOf(order), ...payer }));
        return { id, url: checkout?.url ?? null };
      } catch (error) {
        if (isUnsupported(error)) throw new UnsupportedSum("Paddle does not charge this sum", { cause: error });
        // Which code stands for a customer that is gone or archived is not documented.
        if (order.customer === undefined || !isRefusal(error) || (await isActive(order.customer))) throw error;
        throw new UnknownCustomer("Paddle has no such customer", { cause: error });
      }
    },

    async closeCheckout(externalId) {
      try {
        await inTime(sdk().transactions.update(externalId, { status: "canceled" }));
      } catch (error) {
        // One that is paid or canceled cannot be changed.
        const isOver = error instanceof ApiError && /^not_found$|^transaction_/u.test(error.code);
        if (!isOver) throw error;
      }
    },

    // Whoever types an email at a checkout without customer pays as the customer of that email.
    async customerFor(orgUuid, email) {
      try {
        return (await inTime(sdk().customers.create({ email, customData: { org_uuid: orgUuid } }))).id;
      } catch (error) {
        const known = customerIn(error);
        // The checkout says what else is wrong, such as the key: an address that Paddle does not take keeps nobody out.
        if (known === undefined && isRefusal(error)) return undefined;
        if (known === undefined) throw error;
        const { customData } = await inTime(sdk().customers.get(known));
        return objectOf(customData)["org_uuid"] === orgUuid ? known : undefined;
      }
    },

    async cancelSubscription(externalId) {
      try {
        await inTime(sdk().subscriptions.cancel(externalId, { effectiveFrom: "next_billing_period" }));
      } catch (error) {
        if (isMissing(error)) throw new UnknownSubscription("Paddle has no such subscription", { cause: error });
        throw error;
      }
    },

    // A new customer has no method to attach, and would take the email that the organization's may need.
    async createCustomer(email) {
      if (email === null) throw new MethodDeclined("Paddle needs the email of a customer");
      const [known] = await inTime(
        sdk()
          .customers.list({ email: [email], perPage: 1 })
          .next(),
      );
      if (known === undefined) throw new MethodDeclined("Paddle has no customer of this email");
      return known.id;
    },

    // Paddle stores a method when it is paid with; what is attached here is one that the customer has.
    async attachMethod(customer, token) {
      // The SDK puts the id into the path as it is: another text would read something else.
      if (!METHOD_ID.test(token)) throw new MethodDeclined("the id is not that of a payment method");
      try {
        const { id, card } = await inTime(sdk().paymentMethods.get(customer, token));
        if (card === null) throw new MethodDeclined("the payment method is no card");
        const { type, last4, expiryMonth, expiryYear } = card;
        return { externalId: id, brand: type, last4, expMonth: expiryMonth, expYear: expiryYear };
      } catch (error) {
        if (isMissing(error) || isMalformed(error))
          throw new MethodDeclined("the payment method is unknown", { cause: error });
        throw error;
      }
    },

    async detachMethod(customer, externalId) {
      try {
        await inTime(sdk().paymentMethods.delete(customer, externalId));
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    },

    async openPortal(customer) {
      try {
        const session = await inTime(sdk().customerPortalSessions.create(customer, []));
        return session.urls.general.overview;
      } catch (error) {
        if (isMissing(error)) throw new UnknownCustomer("Paddle has no such customer", { cause: error });
        throw error;
      }
    },

    // Paddle lists events by age alone: the newest first, until one is older than the period.
    async listEvents(from, to, position) {
      const list = sdk().events.list({
        orderBy: "id[DESC]",
        perPage: PER_PAGE,
        ...(position !== null && { after: position }),
      });
      // The SDK would rename and drop members; the facts are read from the event as a webhook brings it.
      list.fromJson = (raw) => raw as never;
      const page = (await inTime(list.next())) as unknown as Unknown[];
      const read = page.flatMap((raw) => {
        const event = toEvent(raw);
        return event === undefined ? [] : [{ event, body: JSON.stringify(raw) }];
      });
      const events = read.filter(({ event }) => event.occurredAt >= from && event.occurredAt <= to);
      const isPast = read.some(({ event }) => event.occurredAt < from);
      const last = textOf(page.at(-1)?.["event_id"]);
      return { events, next: list.hasMore && !isPast ? (last ?? null) : null };
    },

    // An adjustment names its transaction.
    listPaymentsOf: () => Promise.resolve([]),

    readEvent(body, header, nowMs) {
      if (header === null || !isSigned(body, header, webhookSecret, nowMs)) return undefined;
      try {
        return toEvent(JSON.parse(body.toString("utf8")));
      } catch {
        return undefined;
      }
    },
  };
}

/** What Paddle is told of a checkout, without who pays. */
function transactionOf(order: Order) {
  const currencyCode = order.currency.toUpperCase() as CurrencyCode;
  const cycle = order.interval === "once" ? {} : { billingCycle: { interval: order.interval, frequency: 1 } };
  const item = (name: string, amount: number, quantity: number) => ({
    quantity,
    price: {
      description: name,
      name: [...name].slice(0, MAX_PRICE_NAME).join(""),
      product: { name, taxCategory: "standard" as const },
      unitPrice: { amount: String(amount), currencyCode },
      // The quote says the tax: nothing is added to it.
      taxMode: "internal" as const,
      quantity: { minimum: 1, maximum: 1_000_000 },
      ...cycle,
    },
  });
  return {
    items: [
      item(order.description, order.unitAmount, order.seats),
      ...(order.tax === 0 ? [] : [item("Tax", order.tax, 1)]),
    ],
    currencyCode,
    collectionMode: "automatic" as const,
    customData: { quote_id: order.quoteId },
  };
}

/** Whether Paddle does not have what a call is about. */
const isMissing = (error: unknown): boolean => error instanceof ApiError && error.code === "not_found";

/** Whether Paddle cannot read an id. Other refusals, as for the API key or a limit, say nothing about what it names. */
const isMalformed = (error: unknown): boolean =>
  error instanceof ApiError && /^(?:bad_request|invalid_field|invalid_url)$/u.test(error.code);

/** The customer of an email for which there cannot be another: Paddle names it in the error. */
const customerIn = (error: unknown): string | undefined =>
  error instanceof ApiError ? /ctm_[a-z0-9]+/u.exec(error.detail)?.[0] : undefined;

/** Whether Paddle does not sell in the currency of a transaction. */
const isUnsupported = (error: unknown): boolean =>
  error instanceof ApiError && error.errors?.some(({ field }) => /\bcurrency_code$/u.test(field)) === true;

/** Whether one of the `h1` signatures of a header is right, and its time at most 300 s off. */
function isSigned(body: Buffer, header: string, secret: string, nowMs: number): boolean {
  const parts = header.split(";").map((part) => part.trim().split("="));
  const [time, ...others] = parts.filter(([key]) => key === "ts").map(([, value = ""]) => value);
  if (time === undefined || others.length > 0 || !/^\d{1,12}$/u.test(time)) return false;
  if (Math.abs(nowMs / 1000 - Number(time)) > TOLERANCE_S) return false;
  const expected = createHmac("sha256", secret).update(`${time}:`).update(body).digest();
  return parts.some(([key, value = ""]) => {
    const given = Buffer.from(/^[0-9a-f]{64}$/u.test(value) ? value : "", "hex");
    return key === "h1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function toEvent(event: unknown): ProviderEvent | undefined {
  const { event_id: id, event_type: kind, occurred_at: at, data } = objectOf(event);
  const [eventId, type, time] = [textOf(id), textOf(kind), timeOf(at)];
  if (eventId === undefined || type === undefined || time === undefined) return undefined;
  const customer = textOf(objectOf(data)["customer_id"]);
  return { eventId, type, occurredAt: new Date(time), ...readPaddleFacts(type, data), customer };
}

function inTime<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Paddle did not respond within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  });
  return Promise.race([call, late]).finally(() => clearTimeout(timer));
}
