export { offboardingDomain } from "./domain.ts";
export type { OffboardingDeps } from "./deps.ts";
export { createOffboarding } from "./offboarding.ts";
export type { Offboarding } from "./offboarding.ts";
