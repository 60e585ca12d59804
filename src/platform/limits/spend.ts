import { errors } from "../errors.ts";
import type { Budget } from "./budget.ts";

/**
 * Takes one call from the budget of `subject`; without a limiter, where rate limits are off, nothing is counted.
 * @throws {rate_limited} when the budget is used up
 */
export async function spend(
  limiter: { take(budget: Budget, subject: string): number | Promise<number> } | undefined,
  budget: Budget,
  subject: string,
): Promise<void> {
  demandNoWait((await limiter?.take(budget, subject)) ?? 0);
}

/** @throws {rate_limited} when a call has to wait */
export function demandNoWait(waitMs: number): void {
  if (waitMs > 0) throw errors.rateLimited({ retryAfter: waitMs / 1000 });
}
