export { auditRecordDomain } from "./domain.ts";
export { actorOf, personActor, systemActor } from "./actor.ts";
export { createAuditRecord } from "./record.ts";
export type { AuditRecordDeps, AuditRecordWriter } from "./record.ts";
export type { Actor, AuditEvent, AuditRecord } from "./types.ts";
