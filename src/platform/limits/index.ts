import type { Budget, LimiterDeps } from "./budget.ts";
import { createBuckets } from "./buckets.ts";
import { createDelays } from "./delays.ts";
import type { Delays } from "./delays.ts";
import { createWindows } from "./windows.ts";

export type { Budget, LimiterDeps } from "./budget.ts";
export type { DelayedTry, DelayRule, Delays } from "./delays.ts";

/** Counts calls for all instances together, in PostgreSQL. */
export interface Limiter {
  /**
   * Takes one from the budget of `subject`: 0, or the milliseconds until the next may be free.
   *
   * A token bucket starts full with `limit` tokens and refills evenly over `windowMs`. Budgets of 100 and more are spent from
   * tokens leased in advance, up to one second's worth, so that most calls answer at once and without the database; smaller
   * budgets ask it each time. A refusal is remembered until it ends. Rejects with `unavailable` without the database.
   */
  take(budget: Budget, subject: string): number | Promise<number>;
  /** Delays that grow with consecutive failures. */
  delays: Delays;
  /** Removes rows that say no more than their absence would. @returns how many */
  purge(): Promise<number>;
}

export function createLimiter(deps: LimiterDeps): Limiter {
  const buckets = createBuckets(deps);
  const windows = createWindows(deps);
  return {
    take: (budget, subject) => (budget.sliding ? windows.take(budget, subject) : buckets.take(budget, subject)),
    delays: createDelays(deps),
    async purge() {
      const now = deps.clock.now();
      const removed = await Promise.all([
        deps.database.prepared("rate-buckets-purge", "delete from rate_buckets where full_ms < $1 returning 1 as one", [now]),
        deps.database.prepared("rate-windows-purge", "delete from rate_windows where empty_ms < $1 returning 1 as one", [now]),
        deps.database.prepared("rate-delays-purge", "delete from rate_delays where forget_ms < $1 returning 1 as one", [now]),
      ]);
      return removed.flat().length;
    },
  };
}
