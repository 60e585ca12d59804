import type { Guard } from "../db/guard.ts";
import type { Database } from "../db/types.ts";
import type { Budget, LimiterDeps } from "./budget.ts";
import { createBuckets } from "./buckets.ts";
import { createDelays } from "./delays.ts";
import type { Delays } from "./delays.ts";
import { createStreaks } from "./streaks.ts";
import type { Streaks } from "./streaks.ts";
import { createWindows } from "./windows.ts";

export type { Budget, LimiterDeps } from "./budget.ts";
export { INVITATIONS_PER_ORGANIZATION, MAILS_PER_EMAIL } from "./mail.ts";
export type { DelayedTry, DelayRule, Delays } from "./delays.ts";
export { endStreak, SIGN_IN_FAILURES } from "./streaks.ts";
export type { StreakRule, Streaks } from "./streaks.ts";

/** Counts calls for all instances together, in PostgreSQL. */
export interface Limiter {
  /**
   * Takes one from the budget of `subject`: 0, or the milliseconds until the next may be free.
   *
   * A token bucket starts full with `limit` tokens and refills evenly over `windowMs`. Budgets of 100 and more are
   * spent from tokens leased in advance, up to one second's worth, so that most calls answer at once and without the
   * database; smaller budgets ask it each time. A refusal is remembered until it ends. Rejects with `unavailable`
   * without the database.
   */
  take(budget: Budget, subject: string): number | Promise<number>;
  /** Delays that grow with consecutive failures. */
  delays: Delays;
  /** Failures in a row that only a success ends. */
  streaks: Streaks;
  /** Removes a batch of rows that say no more than their absence would. @returns how many */
  purge(): Promise<number>;
}

/** SQL that removes a batch of rows that are over, by the index of their end. */
const oldest = (table: string, end: string): string =>
  `delete from ${table}
  where id in (select id from ${table} where ${end} < $1 limit 2000 for update skip locked)
  returning 1 as one`;

/**
 * Counting writes for nobody: its statements are no part of the call in which they are sent, and never of a
 * transaction.
 */
export function countingOn({
  guard,
  prepared,
}: Pick<Database, "prepared"> & { guard: Guard | undefined }): Pick<Database, "prepared"> {
  if (guard === undefined) return { prepared };
  return {
    prepared(name, sql, params) {
      guard.assertNoTransaction(`the statement ${name}`);
      return guard.apart(() => prepared(name, sql, params));
    },
  };
}

export function createLimiter(deps: LimiterDeps): Limiter {
  const buckets = createBuckets(deps);
  const windows = createWindows(deps);
  return {
    take: (budget, subject) => (budget.sliding ? windows.take(budget, subject) : buckets.take(budget, subject)),
    delays: createDelays(deps),
    streaks: createStreaks(deps),
    async purge() {
      const now = deps.clock.now();
      const removed = await Promise.all([
        deps.database.prepared("rate-buckets-purge", oldest("rate_buckets", "full_ms"), [now]),
        deps.database.prepared("rate-windows-purge", oldest("rate_windows", "empty_ms"), [now]),
        deps.database.prepared("rate-delays-purge", oldest("rate_delays", "forget_ms"), [now]),
      ]);
      return removed.flat().length;
    },
  };
}
