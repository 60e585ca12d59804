export { authEventsDomain } from "./domain.ts";
export { createAuthEvents } from "./auth-events.ts";
export type { AuthEvents, AuthEventsDeps } from "./auth-events.ts";
export type { Verification } from "./chain/verify.ts";
export type { EventPage, EventQuery } from "./list/read-events.ts";
export { authEventsRpc } from "./rpc.ts";
