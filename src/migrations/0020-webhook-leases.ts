import { defineMigration } from "../platform/db/migrator.ts";

/**
 * The lease of a first attempt apart from its due time, and room in the pages: taking a delivery touches no index. That
 * of a retry stays in `next_attempt_at`, by which the endpoint's workflow sleeps.
 */
export const webhookLeases = defineMigration("0020-webhook-leases", [
  "alter table webhook_deliveries add column leased_until timestamptz(3), set (fillfactor = 70)",
]);
