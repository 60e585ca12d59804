import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { lockCount, readBlock, writeCount } from "./budget-store.ts";
import { mfaErrors } from "./errors.ts";
import { afterSecondFactorFailure, afterStepUpFailure } from "./rules.ts";
import type { Budget, Count } from "./rules.ts";

/** One attempt on a budget. Its row is locked until the transaction ends. */
export interface Attempt {
  /** The lockout error, if any: the attempt must not be checked then. */
  refusal: ServiceError | undefined;
  /** Counts a failure; `code` for a wrong code of the second factor. The transaction must then commit. */
  failed(by?: "code"): Promise<void>;
  /** Resets the count to 0; a right code also resets that of wrong codes. */
  passed(by?: "code"): Promise<void>;
}

/**
 * Failure counts and lockouts (decisions 4.3). An attempt locks the person's count, is checked, and counts in one
 * transaction. A wrong one changes nothing else and commits, and its error is thrown afterwards; a right one that is
 * rolled back has opened nothing. So concurrent attempts cannot exceed the count, and no rollback reduces it.
 */
export function createBudgets({ clock, config }: { clock: Clock; config: { stepUpLockMs: number } }) {
  function refusalOf(blockedUntil: Date | null): ServiceError | undefined {
    const leftMs = blockedUntil === null ? 0 : blockedUntil.getTime() - clock.now();
    return leftMs > 0 ? mfaErrors.tooManyAttempts({ retryAfter: Math.ceil(leftMs / 1000) }) : undefined;
  }

  return {
    /** Begins an attempt. */
    async begin(tx: Tx, userUuid: string, budget: Budget): Promise<Attempt> {
      const count = await lockCount(tx, userUuid, budget);
      const after = (by?: "code"): Count =>
        budget === "step_up"
          ? afterStepUpFailure(count, by === "code", clock.now(), config.stepUpLockMs)
          : afterSecondFactorFailure(count, clock.now());
      return {
        refusal: refusalOf(count.blockedUntil),
        failed: (by) => writeCount(tx, userUuid, budget, after(by)),
        passed(by) {
          const wrongCodes = by === "code" ? 0 : count.wrongCodes;
          return writeCount(tx, userUuid, budget, { failures: 0, wrongCodes, blockedUntil: null });
        },
      };
    },

    /** The lockout error, if any, without an attempt. */
    refusal: async (tx: Tx, userUuid: string, budget: Budget): Promise<ServiceError | undefined> =>
      refusalOf(await readBlock(tx, userUuid, budget)),
  };
}

/** Failure counts and lockouts. */
export type Budgets = ReturnType<typeof createBudgets>;
