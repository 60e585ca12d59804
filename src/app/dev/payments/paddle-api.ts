import type { Acts } from "./acts.ts";
import { newId } from "./ledger.ts";
import type { Checkout, Ledger } from "./ledger.ts";
import { printPaddleSubscription, printTransaction } from "./paddle-events.ts";
import type { ApiAnswer, ApiCall } from "./stripe-api.ts";
import { fieldsOfJson, firstFault, TEXT, WHOLE } from "./strict.ts";
import type { Fields, Rules } from "./strict.ts";

const TRANSACTION: Rules = {
  "items.#.quantity!": /^[1-9]\d{0,6}$/u,
  "items.#.price.description!": TEXT,
  "items.#.price.name": /^.{1,150}$/su,
  "items.#.price.product.name!": /^.{1,200}$/su,
  "items.#.price.product.tax_category!": /^(?:standard|saas|digital-goods)$/u,
  "items.#.price.unit_price.amount!": /^\d{1,12}$/u,
  "items.#.price.unit_price.currency_code!": /^[A-Z]{3}$/u,
  "items.#.price.tax_mode": /^(?:internal|external|account_setting)$/u,
  "items.#.price.quantity.minimum": WHOLE,
  "items.#.price.quantity.maximum": WHOLE,
  "items.#.price.billing_cycle.interval": /^(?:day|week|month|year)$/u,
  "items.#.price.billing_cycle.frequency": /^[1-9]\d?$/u,
  "currency_code!": /^[A-Z]{3}$/u,
  collection_mode: /^automatic$/u,
  "custom_data.quote_id": TEXT,
  customer_id: /^ctm_\w+$/u,
};
const CUSTOMER: Rules = { "email!": /^[^@\s]+@[^@\s]+$/u, "custom_data.org_uuid": TEXT };
/** Currencies in which Paddle sells. */
const CURRENCIES = new Set(
  `USD EUR GBP JPY AUD CAD CHF CLP HKD SGD SEK ARS BRL CNY COP CZK DKK HUF ILS INR KRW MXN NOK NZD PEN PLN RUB THB TRY
  TWD UAH VND ZAR`.split(/\s+/u),
);
const LIST = /^(?:after|order_by|per_page)$/u;

const failure = (status: number, code: string, detail: string, field?: string): ApiAnswer => [
  status,
  {
    error: {
      type: "request_error",
      code,
      detail,
      documentation_url: "https://developer.paddle.com/errors",
      ...(field !== undefined && { errors: [{ field, message: detail }] }),
    },
    meta: { request_id: newId("req") },
  },
];
const found = (status: number, data: object, meta: object = {}): ApiAnswer => [
  status,
  { data, meta: { request_id: newId("req"), ...meta } },
];

const customDataOf = (organization: string | undefined): object | null =>
  organization === undefined ? null : { org_uuid: organization };

/** The part of Paddle's API that the service uses. `pages` is the URL under which checkouts are paid. */
export function createPaddleApi(ledger: Ledger, acts: Acts, pages: () => string) {
  function createTransaction(fields: Fields): ApiAnswer {
    const indexes = [...new Set([...fields.keys()].flatMap((key) => /^items\.(\d+)\./u.exec(key)?.[1] ?? []))];
    const currency = fields.get("currency_code") ?? "";
    if (indexes.some((nth) => fields.get(`items.${nth}.price.unit_price.currency_code`) !== currency))
      return failure(400, "transaction_price_currency_mismatch", "All items must have the transaction's currency.");
    if (!CURRENCIES.has(currency))
      return failure(400, "invalid_field", `Paddle does not sell in ${currency}.`, "currency_code");
    const customer = fields.get("customer_id") ?? null;
    if (customer !== null && !ledger.customers.has(customer))
      return failure(404, "not_found", `Customer ${customer} was not found.`);
    const id = newId("txn");
    const checkout: Checkout = {
      id,
      provider: "paddle",
      customer,
      makesCustomer: true,
      items: indexes.map((nth) => ({
        name: fields.get(`items.${nth}.price.product.name`) ?? "",
        amount: Number(fields.get(`items.${nth}.price.unit_price.amount`)),
        quantity: Number(fields.get(`items.${nth}.quantity`)),
      })),
      currency: currency.toLowerCase(),
      interval: (fields.get("items.0.price.billing_cycle.interval") as "month" | "year" | undefined) ?? null,
      successUrl: null,
      cancelUrl: null,
      expiresAt: null,
      status: "open",
    };
    ledger.checkouts.set(id, checkout);
    return found(201, printTransaction(checkout, id, "ready", { url: `${pages()}/pay/${id}` }));
  }

  function cancelTransaction(id: string): ApiAnswer {
    const checkout = ledger.checkouts.get(id);
    if (checkout === undefined) return failure(404, "not_found", `Transaction ${id} was not found.`);
    if (checkout.status !== "open") return failure(400, "transaction_immutable", "The transaction cannot be changed.");
    checkout.status = "left";
    return found(200, printTransaction(checkout, id, "canceled"));
  }

  function createCustomer(fields: Fields): ApiAnswer {
    const email = fields.get("email") ?? "";
    const known = ledger.addresses.get(email.toLowerCase());
    if (known !== undefined)
      return failure(409, "customer_already_exists", `customer email conflicts with customer of id ${known.id}`);
    const customer = { id: newId("ctm"), organization: fields.get("custom_data.org_uuid") };
    ledger.addresses.set(email.toLowerCase(), customer);
    ledger.customers.add(customer.id);
    return found(201, { id: customer.id, email, custom_data: customDataOf(customer.organization) });
  }

  function listCustomers(query: URLSearchParams): ApiAnswer {
    const email = query.get("email") ?? "";
    const known = ledger.addresses.get(email.toLowerCase());
    const data = known === undefined ? [] : [{ id: known.id, email, custom_data: customDataOf(known.organization) }];
    return found(200, data, { pagination: { per_page: 1, next: "", has_more: false, estimated_total: data.length } });
  }

  function readCustomer(id: string): ApiAnswer {
    const [email, customer] = [...ledger.addresses].find(([, one]) => one.id === id) ?? [];
    if (!ledger.customers.has(id)) return failure(404, "not_found", `Customer ${id} was not found.`);
    return found(200, { id, email, custom_data: customDataOf(customer?.organization) });
  }

  function openPortal(customer: string, fields: Fields): ApiAnswer {
    if (!ledger.customers.has(customer)) return failure(404, "not_found", `Customer ${customer} was not found.`);
    const id = newId("cpls");
    ledger.portals.set(id, { provider: "paddle", customer, returnUrl: null });
    const subscriptions = [...fields.values()].map((subscription) => ({ id: subscription }));
    const urls = { general: { overview: `${pages()}/portal/${id}` }, subscriptions };
    return found(201, { id, customer_id: customer, urls, created_at: new Date().toISOString() });
  }

  function listEvents(query: URLSearchParams): ApiAnswer {
    const odd = [...query.keys()].find((key) => !LIST.test(key));
    if (odd !== undefined) return failure(400, "invalid_field", `${odd} is unknown.`);
    const all = ledger.events.filter(({ provider }) => provider === "paddle");
    const ordered = query.get("order_by") === "id[DESC]" ? all.toReversed() : all;
    const perPage = Math.min(200, Number(query.get("per_page") ?? 50));
    const after = query.get("after");
    const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
    const page = ordered.slice(start, start + perPage);
    const next = `${pages()}/events?after=${page.at(-1)?.id ?? ""}&per_page=${perPage}`;
    const pagination = { per_page: perPage, next, has_more: start + perPage < ordered.length };
    return found(
      200,
      page.map(({ body }) => body),
      { pagination },
    );
  }

  function checked(text: string, rules: Rules, act: (fields: Fields) => ApiAnswer): ApiAnswer {
    let fields: Fields;
    try {
      fields = fieldsOfJson(JSON.parse(text === "" ? "{}" : text));
    } catch {
      return failure(400, "invalid_json", "The body is no JSON.");
    }
    const fault = firstFault(fields, rules);
    return fault === undefined ? act(fields) : failure(400, "invalid_field", `${fault.path} ${fault.reason}`);
  }

  function route({ method, path, query, text }: ApiCall): ApiAnswer {
    const [, resource = "", id = "", part = "", partId = ""] = path.split("/");
    switch (`${method} ${resource}${part === "" ? "" : `/${part}`}`) {
      case "POST transactions":
        return checked(text, TRANSACTION, createTransaction);
      case "GET events":
        return listEvents(query);
      case "PATCH transactions":
        return checked(text, { "status!": /^canceled$/u }, () => cancelTransaction(id));
      case "POST customers":
        return checked(text, CUSTOMER, createCustomer);
      case "GET customers":
        return id === "" ? listCustomers(query) : readCustomer(id);
      case "POST customers/portal-sessions":
        return checked(text, { "subscription_ids.#": /^sub_\w+$/u }, (fields) => openPortal(id, fields));
      case "GET customers/payment-methods":
        if (partId.includes("unknown") || !ledger.customers.has(id))
          return failure(404, "not_found", `Payment method ${partId} was not found.`);
        return found(200, {
          id: partId,
          customer_id: id,
          type: "card",
          card: { type: "visa", last4: "4242", expiry_month: 12, expiry_year: 2031, cardholder_name: "Ada" },
        });
      case "DELETE customers/payment-methods":
        return [204, {}];
      case "POST subscriptions/cancel":
        return checked(text, { "effective_from!": /^next_billing_period$/u }, () => {
          const subscription = ledger.subscriptions.get(id);
          if (subscription === undefined) return failure(404, "not_found", `Subscription ${id} was not found.`);
          acts.cancel(subscription, "period");
          return found(200, printPaddleSubscription(subscription));
        });
      default:
        return failure(404, "not_found", `There is no ${method} ${path}.`);
    }
  }

  return function answer(call: ApiCall): ApiAnswer {
    if (!/^bearer pdl_\w+$/iu.test(call.authorization)) return failure(403, "authentication_missing", "No API key.");
    return route(call);
  };
}
