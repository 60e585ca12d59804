export { authEventsDomain } from "./domain.ts";
export { createAuthEvents } from "./auth-events.ts";
export type { AuthEvents } from "./auth-events.ts";
