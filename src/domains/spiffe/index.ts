export { spiffeDomain } from "./domain.ts";
export { createSpiffe } from "./spiffe.ts";
export type { Spiffe, SpiffeDeps } from "./spiffe.ts";
