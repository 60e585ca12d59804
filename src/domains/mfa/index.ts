import { dateOf } from "../../platform/clock.ts";
import { createBudgets } from "./budget.ts";
import { createChallenge } from "./challenge.ts";
import type { MfaDeps } from "./deps.ts";
import { createFactors } from "./factors.ts";
import { createGatekeeper } from "./gatekeeper.ts";
import { createJudge } from "./judge.ts";
import { createRecentProof } from "./proof.ts";
import { createFactorReset } from "./reset.ts";
import { createRecoveryCodes } from "./recovery-codes.ts";
import { forgetChallenges } from "./step-up-store.ts";
import { createStepUp } from "./step-up.ts";
import { forgetDisabled } from "./store.ts";
import { forgetPending } from "./token-store.ts";

export type { Continuation, MfaConfig, MfaDeps } from "./deps.ts";
export type { FirstStep, Gatekeeper, SecondFactorNeeded } from "./gatekeeper.ts";
export type { SecondStep } from "./challenge.ts";
export type { StepUpAnswer } from "./step-up-rules.ts";
export { mfaRpc, stepUpRpc } from "./rpc.ts";

/** How long a disabled factor is kept: as long as the audit log tells of it at least. */
const FACTORS_KEPT_MS = 90 * 86_400_000;

/** Second factors, recovery codes, step-up. */
export function createMfa(deps: MfaDeps) {
  const judge = createJudge(deps);
  const budgets = createBudgets(deps);
  const proof = createRecentProof(deps);
  const factors = createFactors(deps, judge, budgets, proof);
  /** Removes expired tokens and challenges, and factors that were disabled long ago. */
  async function tidy(): Promise<number> {
    const [at, long] = [dateOf(deps.clock), dateOf(deps.clock, -FACTORS_KEPT_MS)];
    const { background } = deps.database;
    return (
      (await forgetPending(background, at)) +
      (await forgetChallenges(background, at)) +
      (await forgetDisabled(background, long))
    );
  }
  return {
    /** The second factor at the doors. */
    gatekeeper: createGatekeeper(deps),
    /** The challenge that completes a sign-in. */
    challenge: createChallenge(deps, judge, budgets),
    factors,
    /** The removal of a member's factors by an administrator. */
    resetFactors: createFactorReset(deps, factors, proof),
    /** Refuses who may not change, or add, factors now, before anything of the request is read. */
    demandProof: proof.demandFirst,
    demandToEnrol: proof.demandToEnrolFirst,
    recoveryCodes: createRecoveryCodes(deps, proof),
    stepUp: createStepUp(deps, judge, budgets),
    tidy: { secondFactors: tidy },
  };
}

/** Second factors as other domains see them. */
export type Mfa = ReturnType<typeof createMfa>;
