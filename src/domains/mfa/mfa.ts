import { dateOf } from "../../platform/clock.ts";
import { createBudgets } from "./budget.ts";
import { createChangeBudget } from "./change-budget.ts";
import { createChallenge } from "./challenge.ts";
import { createCodes } from "./codes.ts";
import type { MfaDeps } from "./deps.ts";
import { createFactors } from "./factors.ts";
import { createPendingSignIns } from "./pending-sign-in.ts";
import { createRecentProof } from "./proof.ts";
import { createRecoveryCodes } from "./recovery-codes.ts";
import { createFactorReset } from "./reset.ts";
import { deleteDisabled } from "./store.ts";
import { deleteExpiredPending } from "./token-store.ts";

/** How long a disabled factor is kept: at least as long as the audit log shows its events. */
const FACTORS_KEPT_MS = 90 * 86_400_000;

/** Second factors and recovery codes. */
export function createMfa(deps: MfaDeps) {
  const codes = createCodes(deps);
  const budgets = createBudgets(deps);
  const proof = createRecentProof(deps);
  const countChange = createChangeBudget(deps);
  const factors = createFactors(deps, codes, budgets, proof, countChange);

  /** Deletes expired tokens, and factors that were disabled long ago. */
  async function tidy(): Promise<number> {
    const [at, long] = [dateOf(deps.clock), dateOf(deps.clock, -FACTORS_KEPT_MS)];
    const { background } = deps.database;
    return (await deleteExpiredPending(background, at)) + (await deleteDisabled(background, long));
  }

  return {
    ...createPendingSignIns(deps),
    /** Verifies the second factor of a pending sign-in. */
    verifyPending: createChallenge(deps, codes, budgets),
    factors,
    /** The removal of a member's factors by an administrator. */
    resetFactors: createFactorReset(deps, factors, proof),
    /** Checks, before the request is read, that the caller may change, or add, factors now. */
    demandProof: proof.demandFirst,
    demandToEnrol: proof.demandToEnrolFirst,
    recoveryCodes: createRecoveryCodes(deps, proof, countChange),
    /** Verification of codes, and failure counts, for step-up. */
    codes,
    budgets,
    tidy: { secondFactors: tidy },
  };
}

/** Second factors as other domains see them. */
export type Mfa = ReturnType<typeof createMfa>;
