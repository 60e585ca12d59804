import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CardRow } from "./cards/store.ts";
import type { CheckoutView } from "./checkout/checkout.ts";
import type { UnmatchedRow } from "./payments/inbox-store.ts";
import type { PaymentRow, SubscriptionRow } from "./payments/store.ts";

/** A row without the members that are null: messages leave these out. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], null> };

function present<T extends object>(row: T): Present<T> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Present<T>;
}

function period<K extends string>(name: K, at: Date | null) {
  return at === null ? {} : ({ [name]: timestampFromDate(at) } as Record<K, ReturnType<typeof timestampFromDate>>);
}

/** A checkout as the contract shows it. */
export function printCheckout({ quote, provider, sessionId, url, status, expiresAt }: CheckoutView) {
  return {
    id: sessionId,
    provider,
    ...(url !== null && status === "open" && { url }),
    status,
    paymentStatus: "unpaid",
    amountTotalCents: quote.totalCents,
    currency: quote.currency,
    quoteId: quote.quoteId,
    expiresAt: timestampFromDate(expiresAt),
  };
}

/** A payment as the contract shows it. */
export function printPayment({ externalId: _externalId, periodStart, periodEnd, createdAt, ...row }: PaymentRow) {
  return {
    ...present(row),
    ...period("periodStart", periodStart),
    ...period("periodEnd", periodEnd),
    createdAt: timestampFromDate(createdAt),
  };
}

/** A subscription as the contract shows it. */
export function printSubscription({
  externalId: _externalId,
  currentPeriodStart,
  currentPeriodEnd,
  createdAt,
  ...row
}: SubscriptionRow) {
  return {
    ...present(row),
    ...period("currentPeriodStart", currentPeriodStart),
    ...period("currentPeriodEnd", currentPeriodEnd),
    createdAt: timestampFromDate(createdAt),
  };
}

/** A card as the contract shows it. */
export function printCard({ externalId: _externalId, createdAt, ...row }: CardRow) {
  return { ...row, createdAt: timestampFromDate(createdAt) };
}

/** A payment that granted nothing as the contract shows it. */
export function printUnmatched({ amount, receivedAt, ...row }: UnmatchedRow) {
  return { ...row, amount: Number(amount), receivedAt: timestampFromDate(receivedAt) };
}
