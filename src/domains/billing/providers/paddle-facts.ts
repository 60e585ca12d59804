import { amountOf, defined, objectOf, textOf, timeOf } from "./json.ts";
import type { Unknown } from "./json.ts";
import { NO_FACTS } from "./provider.ts";
import type { EventFacts } from "./provider.ts";

/** What an event of Paddle says (decisions 10.6); nothing for other types. */
export function readPaddleFacts(type: string, object: unknown): EventFacts {
  const data = objectOf(object);
  if (type === "transaction.completed") return transactionFacts(data, "paid");
  if (type === "transaction.payment_failed") return transactionFacts(data, "failed");
  if (type.startsWith("subscription.")) return subscriptionFacts(data);
  if (type === "adjustment.created" || type === "adjustment.updated") return adjustmentFacts(data);
  return NO_FACTS;
}

function transactionFacts(data: Unknown, status: "paid" | "failed"): EventFacts {
  const id = textOf(data["id"]);
  const subscription = textOf(data["subscription_id"]);
  const totals = objectOf(objectOf(data["details"])["totals"]);
  // Credit of the customer is in the total, and not in the grand total, which is what is collected.
  const collected = amountOf(totals["grand_total"] ?? totals["total"]);
  const amount = status === "paid" ? (amountOf(totals["total"]) ?? collected) : collected;
  const currency = (textOf(data["currency_code"]) ?? textOf(totals["currency_code"]))?.toLowerCase();
  const ids = defined(id, subscription);
  // Another card was stored: nothing was sold, and nothing is due.
  if (data["origin"] === "subscription_payment_method_change") return { ids, facts: [] };
  if (id === undefined || amount === undefined || currency === undefined) return { ids, facts: [] };
  const period = objectOf(data["billing_period"]);
  return {
    ids,
    facts: [
      {
        kind: "payment",
        id,
        status,
        amount,
        ...(collected !== amount && { collected }),
        currency,
        subscription,
        invoiceId: textOf(data["invoice_id"]),
        periodStart: timeOf(period["starts_at"]),
        periodEnd: timeOf(period["ends_at"]),
      },
    ],
  };
}

const STATUSES: Readonly<Record<string, "active" | "past_due" | "canceled">> = {
  active: "active",
  trialing: "active",
  past_due: "past_due",
  paused: "past_due",
  canceled: "canceled",
};

function subscriptionFacts(data: Unknown): EventFacts {
  const id = textOf(data["id"]);
  if (id === undefined) return NO_FACTS;
  const status = STATUSES[textOf(data["status"]) ?? ""];
  // Only the first event of a subscription names its transaction.
  const ids = defined(id, textOf(data["transaction_id"]));
  if (status === undefined) return { ids, facts: [] };
  const period = objectOf(data["current_billing_period"]);
  return {
    ids,
    facts: [
      {
        kind: "subscription",
        id,
        status,
        cancelAtPeriodEnd: objectOf(data["scheduled_change"])["action"] === "cancel",
        periodStart: timeOf(period["starts_at"]),
        periodEnd: timeOf(period["ends_at"]),
      },
    ],
  };
}

function adjustmentFacts(data: Unknown): EventFacts {
  const transaction = textOf(data["transaction_id"]);
  const ids = defined(transaction);
  const totals = objectOf(data["totals"]);
  const approved = amountOf(totals["total"]);
  const currency = (textOf(data["currency_code"]) ?? textOf(totals["currency_code"]))?.toLowerCase();
  const amount = data["status"] === "reversed" ? 0 : data["status"] === "approved" ? approved : undefined;
  if (transaction === undefined || amount === undefined || data["action"] !== "refund") return { ids, facts: [] };
  return { ids, facts: [{ kind: "refund", ids, total: textOf(data["id"]), amount, currency }] };
}
