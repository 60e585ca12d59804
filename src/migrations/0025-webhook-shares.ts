import { defineConcurrentMigration } from "../platform/db/migrator.ts";

const webhooks = `
  alter table webhooks
    -- Deliveries of an earlier generation are over: disabling or ending a webhook raises it, whatever is open.
    add column if not exists generation integer not null default 0,
    -- What is left to do in batches: fail the open deliveries of earlier generations, or delete webhook and deliveries.
    add column if not exists clearing text check (clearing in ('fail', 'delete'))`;

/**
 * Of the webhook, when the delivery was opened; 0 once it is settled, so that one index gives each status in its order.
 */
const deliveries = "alter table webhook_deliveries add column if not exists generation integer not null default 0";

/** Ending webhooks without touching every delivery, and lists of deliveries in the order of an index. */
export const webhookShares = defineConcurrentMigration("0025-webhook-shares", [
  webhooks,
  deliveries,
  { index: "webhooks_clearing", on: "webhooks (webhook_id) where clearing is not null" },
  {
    index: "webhook_deliveries_listed",
    on: "webhook_deliveries (webhook_id, status, generation, created_at desc, delivery_id)",
  },
  {
    index: "webhook_deliveries_open",
    on: "webhook_deliveries (queue, webhook_id, generation, next_attempt_at) where status = 'pending'",
  },
  "drop index concurrently if exists webhook_deliveries_newest",
  "drop index concurrently if exists webhook_deliveries_due",
]);
