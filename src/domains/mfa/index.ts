import { dateOf } from "../../platform/clock.ts";
import { createBudgets } from "./budget.ts";
import { createChallenge } from "./challenge.ts";
import type { MfaDeps } from "./deps.ts";
import { createFactors } from "./factors.ts";
import { createGatekeeper } from "./gatekeeper.ts";
import { createJudge } from "./judge.ts";
import { createRecentProof } from "./proof.ts";
import { createRecoveryCodes } from "./recovery-codes.ts";
import { forgetChallenges } from "./step-up-store.ts";
import { createStepUp } from "./step-up.ts";
import { forgetPending } from "./token-store.ts";

export type { Continuation, MfaConfig, MfaDeps } from "./deps.ts";
export type { FirstStep, Gatekeeper, SecondFactorNeeded } from "./gatekeeper.ts";
export type { SecondStep } from "./challenge.ts";
export type { StepUpAnswer } from "./step-up-rules.ts";
export { mfaRpc, stepUpRpc } from "./rpc.ts";

/** Second factors, recovery codes, step-up. */
export function createMfa(deps: MfaDeps) {
  const judge = createJudge(deps);
  const budgets = createBudgets(deps);
  const proof = createRecentProof(deps);
  return {
    /** The second factor at the doors. */
    gatekeeper: createGatekeeper(deps),
    /** The challenge that completes a sign-in. */
    challenge: createChallenge(deps, judge, budgets),
    factors: createFactors(deps, judge, budgets, proof),
    /** Refuses who may not change factors now, before anything of the request is read. */
    demandProof: proof.demandFirst,
    recoveryCodes: createRecoveryCodes(deps, proof),
    stepUp: createStepUp(deps, judge, budgets),
    /** Forgets some of the tokens and challenges that are over; answers how many. Safe on every instance. */
    async tidy(): Promise<number> {
      const at = dateOf(deps.clock);
      return (await forgetPending(deps.database, at)) + (await forgetChallenges(deps.database, at));
    },
  };
}

/** Second factors as other domains see them. */
export type Mfa = ReturnType<typeof createMfa>;
