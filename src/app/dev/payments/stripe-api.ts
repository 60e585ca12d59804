import { newId } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import type { Acts } from "./acts.ts";
import { printInvoicePayment, printSession, printStripeSubscription } from "./stripe-events.ts";
import { fieldsOfForm, firstFault, PAGE, TEXT } from "./strict.ts";
import type { Fields, Rules } from "./strict.ts";

/** A call of an API, and its answer. */
export interface ApiCall {
  method: string;
  path: string;
  query: URLSearchParams;
  text: string;
  contentType: string;
  authorization: string;
  idempotencyKey: string | undefined;
}
/** Status and JSON body. */
export type ApiAnswer = [status: number, body: object];

const SESSION: Rules = {
  "mode!": /^(?:payment|subscription)$/u,
  client_reference_id: /^.{1,200}$/u,
  customer: /^cus_\w+$/u,
  customer_creation: /^(?:always|if_required)$/u,
  "line_items.#.quantity!": /^[1-9]\d{0,6}$/u,
  "line_items.#.price_data.currency!": /^[a-z]{3}$/u,
  "line_items.#.price_data.unit_amount!": /^\d{1,8}$/u,
  "line_items.#.price_data.product_data.name!": TEXT,
  "line_items.#.price_data.recurring.interval": /^(?:month|year)$/u,
  "success_url!": PAGE,
  cancel_url: PAGE,
  expires_at: /^\d{10}$/u,
  "metadata.quote_id": TEXT,
};
const ATTACH: Rules = { "customer!": /^cus_\w+$/u };
const METHOD: Rules = { "type!": /^card$/u, "card.token!": /^tok_\w+$/u };
/** Currencies whose amounts Stripe wants to be multiples of a number. */
const MULTIPLES: Readonly<Record<string, number>> = { isk: 100, ugx: 100, bhd: 10, jod: 10, kwd: 10, omr: 10, tnd: 10 };
const LIST = /^(?:types\[\d{1,2}\]|created\[(?:gte|lte)\]|limit|starting_after)$/u;

const failure = (status: number, code: string, message: string, param?: string): ApiAnswer => [
  status,
  { error: { type: code === "card_declined" ? "card_error" : "invalid_request_error", code, message, param } },
];

/** The part of Stripe's API that the service uses. `pages` is the URL under which checkouts are paid. */
export function createStripeApi(ledger: Ledger, acts: Acts, now: () => number, pages: () => string) {
  function openSession(fields: Fields): ApiAnswer {
    const indexes = [...new Set([...fields.keys()].flatMap((key) => /^line_items\.(\d+)\./u.exec(key)?.[1] ?? []))];
    const items = indexes.map((nth) => ({
      name: fields.get(`line_items.${nth}.price_data.product_data.name`) ?? "",
      amount: Number(fields.get(`line_items.${nth}.price_data.unit_amount`)),
      quantity: Number(fields.get(`line_items.${nth}.quantity`)),
      currency: fields.get(`line_items.${nth}.price_data.currency`) ?? "",
      interval: fields.get(`line_items.${nth}.price_data.recurring.interval`),
    }));
    const currency = items[0]?.currency ?? "";
    const interval = (items[0]?.interval as "month" | "year" | undefined) ?? null;
    const expiresAt = Number(fields.get("expires_at") ?? now() + 86_400);
    if (items.some((item) => Number.isNaN(item.amount) || Number.isNaN(item.quantity)))
      return failure(400, "parameter_missing", "Every item needs quantity and unit_amount.", "line_items");
    if (items.some((item) => item.currency !== currency))
      return failure(400, "parameter_invalid", "All items must have one currency.", "line_items");
    if (items.some((item) => item.amount % (MULTIPLES[currency] ?? 1) !== 0))
      return failure(400, "parameter_invalid_integer", `Stripe takes no such amount of ${currency}.`, "line_items");
    if ((fields.get("mode") === "subscription") !== (interval !== null))
      return failure(400, "parameter_invalid", "The mode does not fit the prices.", "mode");
    if (expiresAt < now() + 1_800 || expiresAt > now() + 86_400)
      return failure(400, "parameter_invalid", "expires_at must be 30 minutes to 24 hours ahead.", "expires_at");
    const total = items.reduce((sum, { amount, quantity }) => sum + amount * quantity, 0);
    if (currency === "usd" && total > 0 && total < 50)
      return failure(400, "amount_too_small", "The total must be at least $0.50.");
    const [customer, creation] = [fields.get("customer") ?? null, fields.get("customer_creation")];
    if (creation !== undefined && (interval !== null || customer !== null))
      return failure(400, "parameter_invalid", "Only a payment without customer may make one.", "customer_creation");
    if (customer !== null && !ledger.customers.has(customer))
      return failure(400, "resource_missing", `No such customer: '${customer}'`, "customer");
    const bound = [...ledger.subscriptions.values()].filter((one) => one.customer === customer);
    if (interval !== null && bound.some((one) => one.checkout.currency !== currency))
      return failure(400, "parameter_invalid", "You cannot combine currencies on a single customer.");
    const checkout = {
      id: newId("cs_test"),
      provider: "stripe" as const,
      customer,
      makesCustomer: interval !== null || creation === "always",
      items,
      currency,
      interval,
      successUrl: fields.get("success_url") ?? null,
      cancelUrl: fields.get("cancel_url") ?? null,
      expiresAt,
      status: "open" as const,
    };
    ledger.checkouts.set(checkout.id, checkout);
    return [200, printSession(checkout, `${pages()}/pay/${checkout.id}`)];
  }

  function attach(method: string, fields: Fields): ApiAnswer {
    const customer = fields.get("customer") ?? "";
    if (!ledger.customers.has(customer)) return failure(400, "resource_missing", "No such customer.", "customer");
    if (method.includes("declined") || method.includes("Declined"))
      return failure(402, "card_declined", "Your card was declined.");
    if (method.includes("unknown")) return failure(404, "resource_missing", "No such payment method.");
    ledger.methods.set(customer, new Set([...(ledger.methods.get(customer) ?? []), method]));
    const card = { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2031 };
    return [200, { id: method, object: "payment_method", customer, card }];
  }

  function openPortal(fields: Fields): ApiAnswer {
    const customer = fields.get("customer") ?? "";
    if (!ledger.customers.has(customer)) return failure(400, "resource_missing", "No such customer.", "customer");
    const id = newId("bps");
    ledger.portals.set(id, { provider: "stripe", customer, returnUrl: fields.get("return_url") ?? null });
    return [200, { id, object: "billing_portal.session", customer, created: now(), url: `${pages()}/portal/${id}` }];
  }

  function listEvents(query: URLSearchParams): ApiAnswer {
    const odd = [...query.keys()].find((key) => !LIST.test(key));
    if (odd !== undefined) return failure(400, "parameter_unknown", `Received unknown parameter: ${odd}`, odd);
    const types = [...query].filter(([key]) => key.startsWith("types[")).map(([, type]) => type);
    const limit = Number(query.get("limit") ?? 10);
    if (types.length > 20 || limit < 1 || limit > 100)
      return failure(400, "parameter_invalid", "A value is too large.");
    const [from, to] = [Number(query.get("created[gte]") ?? 0), Number(query.get("created[lte]") ?? 1e11)];
    const matching = ledger.events
      .filter(({ provider, type, at }) => provider === "stripe" && at >= from && at <= to && types.includes(type))
      .reverse();
    const after = query.get("starting_after");
    const start = after === null ? 0 : matching.findIndex(({ id }) => id === after) + 1;
    const data = matching.slice(start, start + limit).map(({ body }) => body);
    return [200, { object: "list", url: "/v1/events", has_more: start + limit < matching.length, data }];
  }

  function listInvoicePayments(query: URLSearchParams): ApiAnswer {
    if (query.get("payment[type]") !== "payment_intent")
      return failure(400, "parameter_invalid", "This server lists by payment intents.", "payment");
    const intent = query.get("payment[payment_intent]");
    const own = ledger.payments.filter((one) => one.provider === "stripe" && one.paid && one.intent === intent);
    const data = own.filter(({ id }) => id.startsWith("in_")).map(printInvoicePayment);
    return [200, { object: "list", url: "/v1/invoice_payments", has_more: false, data }];
  }

  /** Checks the fields of a call against the rules, and does it. */
  function checked(text: string, rules: Rules, act: (fields: Fields) => ApiAnswer): ApiAnswer {
    const fields = fieldsOfForm(text);
    const fault = firstFault(fields, rules);
    if (fault !== undefined) {
      const code = fault.reason === "is unknown" ? "parameter_unknown" : "parameter_invalid";
      return failure(400, code, `${fault.path} ${fault.reason}`, fault.path);
    }
    return act(fields);
  }

  function expireSession(id: string): ApiAnswer {
    const checkout = ledger.checkouts.get(id);
    if (checkout === undefined) return failure(404, "resource_missing", `No such checkout.session: ${id}`);
    if (!acts.isOpen(checkout)) return failure(400, "resource_invalid", "Only open Checkout Sessions can be expired.");
    checkout.status = "left";
    return [200, { ...printSession(checkout, ""), status: "expired" }];
  }

  function route({ method, path, query, text }: ApiCall): ApiAnswer {
    const expiring = /^\/v1\/checkout\/sessions\/(\w+)\/expire$/u.exec(path)?.[1];
    if (method === "POST" && expiring !== undefined) return checked(text, {}, () => expireSession(expiring));
    const [, , resource = "", id = "", verb = ""] = path.split("/");
    switch (`${method} ${[resource, id === "" ? "" : "*", verb].filter(Boolean).join("/")}`) {
      case "POST checkout/*":
        return checked(text, SESSION, openSession);
      case "POST billing_portal/*":
        return checked(text, { "customer!": /^cus_\w+$/u, return_url: PAGE }, openPortal);
      case "GET events":
        return listEvents(query);
      case "GET invoice_payments":
        return listInvoicePayments(query);
      case "POST customers":
        return checked(text, { email: /^[^@\s]+@[^@\s]+$/u }, () => {
          const customer = newId("cus");
          ledger.customers.add(customer);
          return [200, { id: customer, object: "customer" }];
        });
      case "POST payment_methods":
        return checked(text, METHOD, () => [200, { id: newId("pm"), object: "payment_method" }]);
      case "POST payment_methods/*/attach":
        return checked(text, ATTACH, (fields) => attach(id, fields));
      case "POST payment_methods/*/detach": {
        const holder = [...ledger.methods.values()].find((methods) => methods.delete(id));
        if (holder === undefined) return failure(400, "resource_missing", "It is not attached to a customer.");
        return [200, { id, object: "payment_method", customer: null }];
      }
      case "POST subscriptions/*":
        return checked(text, { "cancel_at_period_end!": /^true$/u }, () => {
          const subscription = ledger.subscriptions.get(id);
          if (subscription === undefined) return failure(404, "resource_missing", `No such subscription: ${id}`);
          acts.cancel(subscription, "period");
          return [200, printStripeSubscription(subscription)];
        });
      default:
        return failure(404, "unknown_url", `Unrecognized request URL (${method}: ${path}).`);
    }
  }

  return function answer(call: ApiCall): ApiAnswer {
    if (!/^Bearer sk_\w+$/u.test(call.authorization)) return [401, { error: { type: "authentication_error" } }];
    if (call.method === "POST" && !call.contentType.startsWith("application/x-www-form-urlencoded"))
      return failure(400, "parameter_invalid", "The body must be a form.");
    const request = `${call.path}?${call.text}`;
    const known = call.idempotencyKey === undefined ? undefined : ledger.answered.get(call.idempotencyKey);
    if (known !== undefined && known.request !== request)
      return [400, { error: { type: "idempotency_error", message: "The key was used with other parameters." } }];
    if (known !== undefined) return [known.status, known.body];
    const [status, body] = route(call);
    if (call.idempotencyKey !== undefined && call.method === "POST")
      ledger.answered.set(call.idempotencyKey, { request, status, body });
    return [status, body];
  };
}
