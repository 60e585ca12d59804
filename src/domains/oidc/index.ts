export { oidcDomain } from "./domain.ts";
export { ENTER_BY_OIDC } from "./exchange.ts";
export { createOidc } from "./oidc.ts";
export type { Oidc } from "./oidc.ts";
