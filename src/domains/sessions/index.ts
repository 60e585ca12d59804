export { sessionsDomain } from "./domain.ts";
export { demandSingleSignOn } from "./open.ts";
export type { OpenedPair, OpenedSession, Opening, OpenRequest, SessionTtls } from "./open.ts";
export type { OwnSession } from "./own-sessions.ts";
export { sessionsRpc } from "./rpc.ts";
export { createSessions } from "./sessions.ts";
export type { Sessions, SessionsDeps } from "./sessions.ts";
export type { AccessClaims } from "./tokens.ts";
