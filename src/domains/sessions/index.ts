export { sessionsDomain } from "./domain.ts";
export { demandSingleSignOn } from "./open.ts";
export type { OpenedPair, OpenedSession, Opening, OpenRequest } from "./open.ts";
export type { Inherited, OwnSession } from "./own-sessions.ts";
export { createSessions } from "./sessions.ts";
export type { Sessions } from "./sessions.ts";
