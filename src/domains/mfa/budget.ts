import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { ServiceError } from "../../platform/errors.ts";
import { lockCount, readBlock, writeCount } from "./budget-store.ts";
import { mfaErrors } from "./errors.ts";
import { afterSecondFactorFailure, afterStepUpFailure } from "./rules.ts";
import type { Budget } from "./rules.ts";

/** One try on a budget. The row is locked until the transaction ends. */
export interface Try {
  /** 429 `too_many_attempts` while the person is blocked: the try must not be judged. */
  refusal: ServiceError | undefined;
  /** Counts a failure; the transaction must then be committed, not rolled back. */
  failed(): Promise<void>;
  /** Starts the count at 0. */
  passed(): Promise<void>;
}

/**
 * Counting of failures (decisions 4.3). A try takes the lock on the person's count, is judged, and counts in one
 * transaction. A wrong one changes nothing else and is committed, its refusal thrown afterwards; a right one that
 * is rolled back has opened nothing. So parallel tries cannot outrun the count and no rollback takes from it.
 */
export function createBudgets({ clock, config }: { clock: Clock; config: { stepUpLockMs: number } }) {
  function refusalOf(blockedUntil: Date | null): ServiceError | undefined {
    const leftMs = blockedUntil === null ? 0 : blockedUntil.getTime() - clock.now();
    return leftMs > 0 ? mfaErrors.tooManyAttempts({ retryAfter: Math.ceil(leftMs / 1000) }) : undefined;
  }

  return {
    /** Begins a try. */
    async begin(tx: Tx, userUuid: string, budget: Budget): Promise<Try> {
      const { failures, blockedUntil } = await lockCount(tx, userUuid, budget);
      const after = () =>
        budget === "step_up"
          ? afterStepUpFailure(failures, clock.now(), config.stepUpLockMs)
          : afterSecondFactorFailure(failures, clock.now());
      return {
        refusal: refusalOf(blockedUntil),
        failed: () => writeCount(tx, userUuid, budget, after()),
        passed: () => writeCount(tx, userUuid, budget, { failures: 0, blockedUntil: null }),
      };
    },

    /** The refusal somebody gets now without trying anything; undefined when they are not blocked. */
    refusal: async (tx: Tx, userUuid: string, budget: Budget): Promise<ServiceError | undefined> =>
      refusalOf(await readBlock(tx, userUuid, budget)),
  };
}

/** Failure budgets. */
export type Budgets = ReturnType<typeof createBudgets>;

/** The result of a transaction that had to be committed although it refuses: throws the refusal now. */
export function settled<T>(outcome: T | ServiceError): T {
  if (outcome instanceof ServiceError) throw outcome;
  return outcome;
}
