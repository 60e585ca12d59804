export { stepUpDomain } from "./domain.ts";
export { createStepUp } from "./step-up.ts";
export type { StepUp } from "./step-up.ts";
