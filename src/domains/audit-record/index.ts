export { auditRecordDomain } from "./domain.ts";
export { actorOf, personActor, systemActor } from "./actor.ts";
export { createAuditRecord } from "./record.ts";
export type { AuditRecordWriter } from "./record.ts";
export type { Actor, AuditRecord } from "./types.ts";
