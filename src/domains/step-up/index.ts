export { stepUpDomain } from "./domain.ts";
export type { StepUpDeps } from "./deps.ts";
export { stepUpRpc } from "./rpc.ts";
export type { StepUpAnswer } from "./rules.ts";
export { createStepUp } from "./step-up.ts";
export type { IssuedChallenge, StepUp } from "./step-up.ts";
