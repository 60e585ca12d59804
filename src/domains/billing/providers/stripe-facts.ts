import { amountOf, defined, idOf, objectOf, secondsOf, textOf } from "./json.ts";
import type { Unknown } from "./json.ts";
import { NO_FACTS } from "./provider.ts";
import type { EventFacts } from "./provider.ts";
import { fromStripe } from "./stripe-amounts.ts";

/** Types of events that may say something about payments: Stripe lists at most 20 in one call. */
export const STRIPE_TYPES = [
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "checkout.session.async_payment_failed",
  "invoice.paid",
  "invoice.payment_failed",
  "invoice_payment.paid",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "charge.refunded",
  "refund.failed",
  "refund.updated",
] as const;

/** What an event of Stripe says (decisions 10.6); nothing for other types. */
export function readStripeFacts(type: string, object: unknown): EventFacts {
  const data = objectOf(object);
  switch (type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.async_payment_failed":
      return sessionFacts(type, data);
    case "invoice.paid":
      return invoiceFacts(data, "paid");
    case "invoice.payment_failed":
      return invoiceFacts(data, "failed");
    case "invoice_payment.paid":
      return invoicePaymentFacts(data);
    case "customer.subscription.created":
    case "customer.subscription.updated":
    case "customer.subscription.deleted":
      return subscriptionFacts(data, type.endsWith("deleted"));
    case "charge.refunded":
      return refundFacts(data);
    case "refund.failed":
    case "refund.updated":
      return failedRefundFacts(data);
    default:
      return NO_FACTS;
  }
}

/** An amount of the object as ISO 4217 minor units. */
function minorOf(amount: unknown, data: Unknown): number | undefined {
  const units = amountOf(amount);
  return units === undefined ? undefined : fromStripe(units, textOf(data["currency"]) ?? "");
}

/** A session links its subscription, and is itself the payment where it is for one payment. */
function sessionFacts(type: string, data: Unknown): EventFacts {
  const id = textOf(data["id"]);
  const [amount, currency] = [minorOf(data["amount_total"], data), textOf(data["currency"])];
  const ids = defined(id, idOf(data["subscription"]), idOf(data["payment_intent"]), idOf(data["invoice"]));
  const isFailed = type.endsWith("failed");
  const isNothingDue = data["payment_status"] === "no_payment_required" && amount === 0;
  const isPaidNow = data["payment_status"] === "paid" || isNothingDue;
  const isPaid = type.endsWith("succeeded") || (type.endsWith("completed") && isPaidNow);
  if (data["mode"] !== "payment" || !(isPaid || isFailed)) return { ids, facts: [] };
  if (id === undefined || amount === undefined || currency === undefined) return { ids, facts: [] };
  return { ids, facts: [{ kind: "payment", id, status: isFailed ? "failed" : "paid", amount, currency }] };
}

function invoiceFacts(data: Unknown, status: "paid" | "failed"): EventFacts {
  const id = textOf(data["id"]);
  // Where the subscription stands depends on the version of the API.
  const details = objectOf(objectOf(data["parent"])["subscription_details"]);
  const subscription = idOf(data["subscription"]) ?? idOf(details["subscription"]);
  // The customer's balance settles a part of the total, and only the rest is collected.
  const collected = minorOf(status === "paid" ? data["amount_paid"] : data["amount_due"], data);
  const amount = status === "paid" ? (minorOf(data["total"], data) ?? collected) : collected;
  const currency = textOf(data["currency"]);
  const aliases = paymentsOf(data);
  const ids = defined(id, subscription, ...aliases);
  if (id === undefined || amount === undefined || currency === undefined) return { ids, facts: [] };
  const lines = objectOf(data["lines"])["data"];
  const period = objectOf(objectOf(Array.isArray(lines) ? lines[0] : undefined)["period"]);
  return {
    ids,
    facts: [
      {
        kind: "payment",
        id,
        aliases,
        status,
        amount,
        ...(collected !== amount && { collected }),
        currency,
        subscription,
        invoiceId: id,
        invoiceUrl: textOf(data["hosted_invoice_url"]),
        periodStart: secondsOf(period["start"]),
        periodEnd: secondsOf(period["end"]),
        description: textOf(data["description"]),
      },
    ],
  };
}

/** The payment intent and the charge that an object names. */
const payersOf = (object: Unknown): string[] => defined(idOf(object["payment_intent"]), idOf(object["charge"]));

/** Payment intents and charges of an invoice, which it has in versions of the API before 2025-03-31. */
function paymentsOf(invoice: Unknown): string[] {
  const listed = objectOf(invoice["payments"])["data"];
  const payments = [invoice, ...(Array.isArray(listed) ? listed.map((one) => objectOf(objectOf(one)["payment"])) : [])];
  return payments.flatMap(payersOf);
}

/** Says by what an invoice was paid: a refund names that, and no invoice. */
function invoicePaymentFacts(data: Unknown): EventFacts {
  const invoice = idOf(data["invoice"]);
  const aliases = payersOf(objectOf(data["payment"]));
  if (invoice === undefined || aliases.length === 0) return NO_FACTS;
  return { ids: [invoice, ...aliases], facts: [{ kind: "alias", payment: invoice, aliases }] };
}

const STATUSES: Readonly<Record<string, "active" | "past_due" | "canceled">> = {
  active: "active",
  trialing: "active",
  past_due: "past_due",
  unpaid: "past_due",
  paused: "past_due",
  canceled: "canceled",
  incomplete_expired: "canceled",
};

function subscriptionFacts(data: Unknown, isDeleted: boolean): EventFacts {
  const id = textOf(data["id"]);
  if (id === undefined) return NO_FACTS;
  const status = isDeleted ? "canceled" : STATUSES[textOf(data["status"]) ?? ""];
  const ids = defined(id, idOf(data["latest_invoice"]));
  if (status === undefined) return { ids, facts: [] };
  const items = objectOf(data["items"])["data"];
  const item = objectOf(Array.isArray(items) ? items[0] : undefined);
  return {
    ids,
    facts: [
      {
        kind: "subscription",
        id,
        status,
        cancelAtPeriodEnd: data["cancel_at_period_end"] === true,
        periodStart: secondsOf(data["current_period_start"] ?? item["current_period_start"]),
        periodEnd: secondsOf(data["current_period_end"] ?? item["current_period_end"]),
      },
    ],
  };
}

function refundFacts(data: Unknown): EventFacts {
  const charge = textOf(data["id"]);
  const ids = defined(charge, idOf(data["payment_intent"]), idOf(data["invoice"]));
  const [amount, currency] = [minorOf(data["amount_refunded"], data), textOf(data["currency"])];
  if (amount === undefined) return { ids, facts: [] };
  return { ids, facts: [{ kind: "refund", ids, total: charge, amount, currency }] };
}

/** A refund that failed or was canceled is taken off the total of its charge; in other states it says nothing new. */
function failedRefundFacts(data: Unknown): EventFacts {
  const [failed, total] = [textOf(data["id"]), idOf(data["charge"])];
  const ids = payersOf(data);
  const amount = minorOf(data["amount"], data);
  const isOff = data["status"] === "failed" || data["status"] === "canceled";
  if (!isOff || failed === undefined || total === undefined || amount === undefined) return { ids, facts: [] };
  return { ids, facts: [{ kind: "refund", ids, total, amount, failed }] };
}
