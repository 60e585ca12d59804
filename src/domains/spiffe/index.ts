export { spiffeDomain } from "./domain.ts";
export { createSpiffe } from "./spiffe.ts";
export type { Spiffe } from "./spiffe.ts";
