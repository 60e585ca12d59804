import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// Two indexes do what five did: lists read authentication events and the others apart, as they read successes and
// failures, and merge them. Every write of the service appends to all indexes of the log.
const MERGED = [
  "audit_events_org",
  "audit_events_outcome",
  "audit_events_auth_outcome",
  "audit_events_user_outcome",
  "audit_events_user_auth",
];

/** Fewer indexes of the audit log. */
export const auditIndexes = defineConcurrentMigration("0130-audit-indexes", [
  {
    index: "audit_events_kind",
    on: "audit_events (org_uuid, is_auth, outcome, created_at desc, sequence desc)",
  },
  {
    index: "audit_events_user_kind",
    on: "audit_events (org_uuid, user_uuid, is_auth, outcome, created_at desc, sequence desc)",
  },
  ...MERGED.map((index) => `drop index concurrently if exists ${index}`),
]);
