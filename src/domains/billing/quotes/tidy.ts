import { dateOf } from "../../../platform/clock.ts";
import type { TidyTask } from "../../../platform/tidy-task.ts";
import { leaveCheckouts } from "../checkout/leaving.ts";
import type { BillingDeps } from "../deps.ts";
import { endsByItself } from "../providers/index.ts";
import { deleteExpiredQuotes } from "./store.ts";

/** How long quotes that nobody paid are kept after their end, milliseconds. */
const KEPT_MS = 30 * 86_400_000;

/** Deletes quotes that nobody paid, and closes what could still be paid of them. */
export function createQuoteTidy({
  database,
  clock,
}: Pick<BillingDeps, "clock"> & {
  database: Pick<BillingDeps["database"], "background">;
}): TidyTask {
  return () =>
    database.background.transaction(async (tx) => {
      const { count, left } = await deleteExpiredQuotes(tx, dateOf(clock, -KEPT_MS));
      const open = left.filter(({ provider }) => !endsByItself(provider));
      await leaveCheckouts(tx, open, dateOf(clock));
      return count;
    });
}
