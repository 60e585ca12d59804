import type { Fact } from "../providers/index.ts";

/** A fact and when it was, by the provider's clock: ISO 8601. */
export type TimedFact = Fact & { at: string };

type PaymentFact = Extract<TimedFact, { kind: "payment" }>;
type RefundFact = Extract<TimedFact, { kind: "refund" }>;
type SubscriptionFact = Extract<TimedFact, { kind: "subscription" }>;

/** A subscription as events say it; `statedAt`: of the last one about itself, and not about a payment. */
export type FoldedSubscription = Omit<SubscriptionFact, "kind" | "at"> & { statedAt?: string | undefined };

/** A payment as all events together say it; `amount` is what was collected. */
export interface FoldedPayment extends Omit<PaymentFact, "kind" | "status" | "aliases" | "collected"> {
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
  /** By payment: all ids of it. */
  const names = new Map<string, Set<string>>();
  const refunds: RefundFact[] = [];
  let subscription: FoldedSubscription | undefined;
  for (const fact of facts) {
    if (fact.kind === "refund") {
      refunds.push(fact);
    } else if (fact.kind === "alias") {
      name(fact.payment, fact.aliases);
    } else if (fact.kind === "payment") {
      const { kind: _kind, aliases = [], collected = fact.amount, ...payment } = fact;
      name(fact.id, aliases);
      const matches = fact.amount === quote.totalCents && fact.currency === quote.currency;
      // What is paid stays paid: a failed attempt of the same invoice came before, whatever its event's time says.
      if (payments.get(fact.id)?.status !== "paid")
        payments.set(fact.id, { ...payment, amount: collected, refunded: 0, matches });
      if (fact.subscription !== undefined) subscription = afterPayment(subscription, fact, matches);
    } else {
      const { kind: _kind, at: statedAt, ...state } = fact;
      // The end of a subscription is final.
      if (subscription?.status !== "canceled") subscription = { ...subscription, ...withoutUndefined(state), statedAt };
    }
  }
  // A refund of Stripe may name a payment intent alone, and an invoice none: with one payment there is no doubt.
  const refundsOf = ({ id }: FoldedPayment): RefundFact[] =>
    refunds.filter(({ ids }) => payments.size === 1 || ids.some((one) => names.get(id)?.has(one) === true));
  const all = [...payments.values()].map((payment) => refunded(payment, refundsOf(payment)));
  const isGranted = all.some(({ matches, status }) => matches && status !== "failed");
  return { payments: all, subscription: isGranted ? subscription : undefined };

  function name(id: string, aliases: readonly string[]): void {
    names.set(id, new Set([id, ...(names.get(id) ?? []), ...aliases]));
  }
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

function refunded(payment: FoldedPayment, refunds: readonly RefundFact[]): FoldedPayment {
  const sum = paidBack(refunds);
  if (payment.status === "failed" || sum === 0) return payment;
  const isAll = sum >= payment.amount;
  return { ...payment, refunded: Math.min(payment.amount, sum), status: isAll ? "refunded" : payment.status };
}

/**
 * What refunds amount to. Stripe reports the total of a charge with each refund, Paddle each refund as an adjustment of
 * its own: what was said last of each counts. A refund that failed is taken off, once, unless a later total does it.
 */
function paidBack(refunds: readonly RefundFact[]): number {
  const totals = new Map<string, { amount: number; at: number }>();
  const failures = new Set<string>();
  const timed = refunds.map((fact) => ({ ...fact, at: Date.parse(fact.at) }));
  const isFailure = ({ failed }: { failed?: string | undefined }): number => (failed === undefined ? 0 : 1);
  // Within one second, which is all that Stripe says, totals grow and come before failures.
  timed.sort((one, other) => one.at - other.at || isFailure(one) - isFailure(other));
  for (const { ids, total = ids[0] ?? "", amount, at, failed } of timed) {
    const before = totals.get(total) ?? { amount: 0, at: 0 };
    if (failed === undefined) {
      totals.set(total, { amount: before.at === at ? Math.max(before.amount, amount) : amount, at });
    } else if (!failures.has(failed)) {
      failures.add(failed);
      totals.set(total, { ...before, amount: Math.max(0, before.amount - amount) });
    }
  }
  return [...totals.values()].reduce((sum, { amount }) => sum + amount, 0);
}

function withoutUndefined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
