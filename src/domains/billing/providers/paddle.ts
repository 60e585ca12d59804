import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError, LogLevel, Paddle } from "@paddle/paddle-node-sdk";
import type { CurrencyCode, Environment } from "@paddle/paddle-node-sdk";
import type { Provider } from "../../../platform/config/types.ts";
import { objectOf, textOf, timeOf } from "./json.ts";
import type { Unknown } from "./json.ts";
import { readPaddleFacts } from "./paddle-facts.ts";
import { MethodDeclined, TOLERANCE_S, UnknownCustomer, UnknownSubscription } from "./provider.ts";
import type { Order, PaymentProvider, ProviderEvent } from "./provider.ts";

/** Time for one call, milliseconds: the SDK sets none. */
const TIMEOUT_MS = 10_000;
/** Events of one page: the most that Paddle lists. */
const PER_PAGE = 200;
/** Subscriptions that Paddle accepts for one session of the portal. */
const MAX_LINKED = 25;

/** Paddle through its own SDK, and its signature scheme as documented by Paddle. */
export function createPaddle({ apiKey, webhookSecret, apiBase }: Provider): PaymentProvider {
  let client: Paddle | undefined;
  const sdk = (): Paddle =>
    (client ??= new Paddle(apiKey, {
      logLevel: LogLevel.none,
      // The SDK takes any base URL where it expects the name of an environment.
      ...(apiBase !== undefined && { environment: apiBase.replace(/\/$/u, "") as Environment }),
    }));

  return {
    name: "paddle",
    signatureHeader: "paddle-signature",

    async openCheckout(order: Order) {
      const cycle = order.interval === "once" ? {} : { billingCycle: { interval: order.interval, frequency: 1 } };
      const item = (name: string, amount: number, quantity: number) => ({
        quantity,
        price: {
          description: name,
          name,
          product: { name, taxCategory: "standard" as const },
          unitPrice: { amount: String(amount), currencyCode: order.currency.toUpperCase() as CurrencyCode },
          // The quote says the tax: nothing is added to it.
          taxMode: "internal" as const,
          quantity: { minimum: 1, maximum: 1_000_000 },
          ...cycle,
        },
      });
      const transaction = await inTime(
        sdk().transactions.create({
          items: [
            item(order.description, order.unitAmount, order.seats),
            ...(order.tax === 0 ? [] : [item("Tax", order.tax, 1)]),
          ],
          currencyCode: order.currency.toUpperCase() as CurrencyCode,
          collectionMode: "automatic",
          customData: { quote_id: order.quoteId },
        }),
      );
      return { id: transaction.id, url: transaction.checkout?.url ?? null };
    },

    async cancelSubscription(externalId) {
      try {
        await inTime(sdk().subscriptions.cancel(externalId, { effectiveFrom: "next_billing_period" }));
      } catch (error) {
        if (error instanceof ApiError && error.code === "not_found")
          throw new UnknownSubscription("Paddle has no such subscription", { cause: error });
        throw error;
      }
    },

    async createCustomer(email) {
      if (email === null) throw new MethodDeclined("Paddle needs the email of a customer");
      try {
        return (await inTime(sdk().customers.create({ email }))).id;
      } catch (error) {
        // A customer of this email exists: Paddle names it in the error.
        const known = error instanceof ApiError ? /ctm_[a-z0-9]+/u.exec(error.detail)?.[0] : undefined;
        if (known === undefined) throw error;
        return known;
      }
    },

    // Paddle stores a method when it is paid with; what is attached here is one that the customer has.
    async attachMethod(customer, token) {
      try {
        const { id, card } = await inTime(sdk().paymentMethods.get(customer, token));
        if (card === null) throw new MethodDeclined("the payment method is no card");
        const { type, last4, expiryMonth, expiryYear } = card;
        return { externalId: id, brand: type, last4, expMonth: expiryMonth, expYear: expiryYear };
      } catch (error) {
        if (error instanceof ApiError && error.type === "request_error")
          throw new MethodDeclined("the payment method is unknown", { cause: error });
        throw error;
      }
    },

    async detachMethod(customer, externalId) {
      try {
        await inTime(sdk().paymentMethods.delete(customer, externalId));
      } catch (error) {
        if (!(error instanceof ApiError && error.type === "request_error")) throw error;
      }
    },

    async openPortal(customer, subscriptions) {
      try {
        const session = await inTime(sdk().customerPortalSessions.create(customer, subscriptions.slice(0, MAX_LINKED)));
        return session.urls.general.overview;
      } catch (error) {
        if (error instanceof ApiError && error.code === "not_found")
          throw new UnknownCustomer("Paddle has no such customer", { cause: error });
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
