import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createAuditRecord } from "./record.ts";

/** The audit record, to which every other domain's events are appended. */
export const auditRecordDomain = defineDomain("audit-record", (ground: Ground) => createAuditRecord(ground));
