export { operatorDomain } from "./domain.ts";
export { isReady } from "./readiness.ts";
export type { ReadinessReport } from "./readiness.ts";
