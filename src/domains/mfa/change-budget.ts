import type { Tx } from "../../platform/db/types.ts";
import { FACTOR_CHANGES, spend } from "../../platform/limits/index.ts";
import type { MfaDeps } from "./deps.ts";

/**
 * Counts changes of a person's factors, so that whoever holds a session cannot flood the mailbox with notices of them.
 */
export function createChangeBudget({ database, limiter }: Pick<MfaDeps, "database" | "limiter">) {
  /**
   * Counts a change that `isPossible`; the transaction that makes it repeats that check, and refuses the others.
   * @throws {rate_limited} when the budget is used up
   */
  return async function countChange(userUuid: string, isPossible: (tx: Tx) => Promise<boolean>): Promise<void> {
    // The budget cannot be spent inside a transaction.
    if (limiter !== undefined && (await database.transaction(isPossible)))
      await spend(limiter, FACTOR_CHANGES, userUuid);
  };
}

/** Counts changes of a person's factors. */
export type CountChange = ReturnType<typeof createChangeBudget>;
