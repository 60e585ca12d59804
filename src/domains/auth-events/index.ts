export { createAudit, createAuditChain } from "./auth-events.ts";
export type { Audit, AuditChain } from "./auth-events.ts";
export type { ProofResult } from "./proof.ts";
export type { EventPage, EventQuery } from "./read-events.ts";
export { authEventsRpc } from "./rpc.ts";
export type { Verification } from "./verify.ts";
export { verifyExport } from "./verify-export.ts";
