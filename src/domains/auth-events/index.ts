export { createAudit, createAuditChain } from "./auth-events.ts";
export type { Audit, AuditChain } from "./auth-events.ts";
export type { ProofResult } from "./export/proof.ts";
export type { EventPage, EventQuery } from "./list/read-events.ts";
export { authEventsRpc } from "./rpc.ts";
export type { Verification } from "./chain/verify.ts";
export { verifyExport } from "./export/verify-export.ts";
