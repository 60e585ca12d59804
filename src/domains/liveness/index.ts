export { credential } from "./credential.ts";
export type { Credential } from "./credential.ts";
export { livenessDomain } from "./domain.ts";
export type { KindName, RowOf } from "./kinds.ts";
export { createLiveness } from "./liveness.ts";
export type { Liveness } from "./liveness.ts";
export type { ApiKeyRow, IdentityRow, OpaqueRow, SessionRow, SvidRow } from "./rows.ts";
