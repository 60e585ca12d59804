export { scimDomain } from "./domain.ts";
export { createScim } from "./scim.ts";
export type { Scim } from "./scim.ts";
