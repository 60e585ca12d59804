import type { Fact } from "../providers/index.ts";

/** A fact and when it was, by the provider's clock: ISO 8601. */
export type TimedFact = Fact & { at: string };

type PaymentFact = Extract<TimedFact, { kind: "payment" }>;
type RefundFact = Extract<TimedFact, { kind: "refund" }>;
type SubscriptionFact = Extract<TimedFact, { kind: "subscription" }>;

/** A subscription as events say it; `statedAt`: of the last one about itself, and not about a payment. */
export type FoldedSubscription = Omit<SubscriptionFact, "kind" | "at"> & { statedAt?: string | undefined };

/** A payment as all events together say it. */
export interface FoldedPayment extends Omit<PaymentFact, "kind" | "status"> {
  status: "paid" | "failed" | "refunded";
  refunded: number;
  /** Whether the sum and the currency are those of the quote: nothing else grants anything. */
  matches: boolean;
}

/** A purchase as all events together say it. */
export interface Folded {
  payments: FoldedPayment[];
  /** Undefined before a matching payment, and for single payments. */
  subscription: FoldedSubscription | undefined;
}

/**
 * What the facts of a purchase amount to. The result depends on the set of facts in the order of their time alone,
 * never on the order or number of deliveries.
 * @param facts in the order of their time
 */
export function fold(facts: readonly TimedFact[], quote: { totalCents: number; currency: string }): Folded {
  const payments = new Map<string, FoldedPayment>();
  const refunds: RefundFact[] = [];
  let subscription: FoldedSubscription | undefined;
  for (const fact of facts) {
    if (fact.kind === "refund") {
      refunds.push(fact);
    } else if (fact.kind === "payment") {
      const { kind: _kind, ...payment } = fact;
      const matches = fact.amount === quote.totalCents && fact.currency === quote.currency;
      // What is paid stays paid: a failed attempt of the same invoice came before, whatever its event's time says.
      const before = payments.get(fact.id);
      const aliases = [...new Set([...(before?.aliases ?? []), ...(fact.aliases ?? [])])];
      payments.set(fact.id, {
        ...(before?.status === "paid" ? before : { ...payment, refunded: 0, matches }),
        aliases,
      });
      if (fact.subscription !== undefined) subscription = afterPayment(subscription, fact, matches);
    } else {
      const { kind: _kind, at: statedAt, ...state } = fact;
      // The end of a subscription is final.
      if (subscription?.status !== "canceled") subscription = { ...subscription, ...withoutUndefined(state), statedAt };
    }
  }
  const all = [...payments.values()].map((payment) => refunded(payment, refunds, payments.size));
  const isGranted = all.some(({ matches, status }) => matches && status !== "failed");
  return { payments: all, subscription: isGranted ? subscription : undefined };
}

function afterPayment(
  before: FoldedSubscription | undefined,
  { subscription: id = "", status, periodStart, periodEnd }: PaymentFact,
  matches: boolean,
): FoldedSubscription {
  const state = before ?? { id, status: "active" as const, cancelAtPeriodEnd: false };
  if (state.status === "canceled" || (status === "paid" && !matches)) return state;
  if (status === "failed") return { ...state, status: before === undefined ? state.status : "past_due" };
  const period = withoutUndefined({ periodStart, periodEnd });
  const isLater = periodEnd === undefined || state.periodEnd === undefined || periodEnd >= state.periodEnd;
  return { ...state, status: "active", ...(isLater && period) };
}

function refunded(payment: FoldedPayment, refunds: readonly RefundFact[], all: number): FoldedPayment {
  // A refund of Stripe may name a payment intent alone, and an invoice none: with one payment there is no doubt.
  const own = refunds.filter(
    ({ ids }) => all === 1 || ids.some((id) => id === payment.id || payment.aliases?.includes(id) === true),
  );
  if (payment.status === "failed" || own.length === 0) return payment;
  // Stripe reports the total of a charge with each refund, Paddle each refund as an adjustment of its own.
  const totals = new Map<string, number>();
  for (const { ids, total = ids[0] ?? "", amount } of own) totals.set(total, Math.max(amount, totals.get(total) ?? 0));
  const sum = Math.min(
    payment.amount,
    [...totals.values()].reduce((before, amount) => before + amount, 0),
  );
  return { ...payment, refunded: sum, status: sum >= payment.amount ? "refunded" : payment.status };
}

function withoutUndefined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
