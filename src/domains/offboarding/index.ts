export { offboardingDomain } from "./domain.ts";
export { createOffboarding } from "./offboarding.ts";
export type { Offboarding } from "./offboarding.ts";
