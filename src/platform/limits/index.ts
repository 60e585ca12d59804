import type { Guard } from "../db/guard.ts";
import { databaseMs, presentMs } from "../db/time.ts";
import type { Database } from "../db/types.ts";
import type { Budget, LimiterDeps } from "./budget.ts";
import { createBuckets } from "./buckets.ts";
import { createDelays } from "./delays.ts";
import type { Delays } from "./delays.ts";
import { createStreaks } from "./streaks.ts";
import type { Streaks } from "./streaks.ts";
import { deleteOrphanedStreams } from "./stream-store.ts";
import { createWindows } from "./windows.ts";

export type { Budget, LimiterDeps } from "./budget.ts";
export { FACTOR_CHANGES, INVITATIONS_PER_ORGANIZATION, MAILS_PER_EMAIL } from "./mail.ts";
export type { DelayedTry, DelayRule, Delays } from "./delays.ts";
export { createSignInAttempts } from "./sign-in-attempts.ts";
export type { Attempt, SignInAttempts, SignInAttemptsDeps } from "./sign-in-attempts.ts";
export { demandNoWait, spend } from "./spend.ts";
export { endStreak, SIGN_IN_FAILURES } from "./streaks.ts";
export type { StreakRule, Streaks } from "./streaks.ts";
export { createStreamPlaces } from "./streams.ts";
export type { ReleasePlace, StreamPlaces } from "./streams.ts";

/** Limits shared by all instances, counted in PostgreSQL. */
export interface Limiter {
  /**
   * Takes one call from the budget of `subject`. Returns 0, or the milliseconds until the next call may be allowed.
   *
   * A token bucket starts with `limit` tokens and refills evenly over `windowMs`. Budgets of 100 and more are spent
   * from tokens leased in advance, up to one second's worth, so that most calls do not query the database; smaller
   * budgets query it each time. A refusal is cached until it ends.
   * @throws {unavailable} when the database is unavailable
   */
  take(budget: Budget, subject: string): number | Promise<number>;
  /** Delays that grow with consecutive failures. */
  delays: Delays;
  /** Consecutive failures, which only a success resets. */
  streaks: Streaks;
  /** Deletes a batch of rows that have no effect any more. @returns their number */
  purge(): Promise<number>;
}

/** Returns SQL that deletes a batch of ended rows, by the index on their end. */
const deleteEnded = (table: string, end: string): string =>
  `delete from ${table}
  where id in (select id from ${table} where ${end} < ${presentMs("$1")} limit 2000 for update skip locked)
  returning 1 as one`;

/**
 * Returns a database whose statements the guard does not count as writes of the current call: limits are kept even when
 * the caller has lost access. Inside a transaction they throw.
 */
export function limiterDatabase({
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
      const now = databaseMs(deps.clock);
      const removed = await Promise.all([
        deps.database.prepared("rate-buckets-purge", deleteEnded("rate_buckets", "full_ms"), [now]),
        deps.database.prepared("rate-windows-purge", deleteEnded("rate_windows", "empty_ms"), [now]),
        deps.database.prepared("rate-delays-purge", deleteEnded("rate_delays", "forget_ms"), [now]),
      ]);
      return removed.flat().length + (await deleteOrphanedStreams(deps.database));
    },
  };
}
