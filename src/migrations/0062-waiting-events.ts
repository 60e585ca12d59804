import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/**
 * Events of providers that belong to no purchase. Those that a purchase waits for are found by their ids alone: the
 * predicate keeps PostgreSQL from reading all of them by time instead, which it does while it knows little of the
 * table. The index of ids has no list of pending entries, which every search would read.
 */
export const waitingEvents = defineConcurrentMigration("0062-waiting-events", [
  {
    index: "provider_events_waiting",
    on: "provider_events (received_at) where quote_id is null and received_at > '-infinity'",
  },
  "drop index concurrently if exists provider_events_received",
  "alter index provider_events_unmatched set (fastupdate = off)",
  "select gin_clean_pending_list('provider_events_unmatched')",
]);
