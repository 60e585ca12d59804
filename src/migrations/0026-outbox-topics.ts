import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** The outbox by topic, so that a backlog of one topic is no work for the others. */
export const outboxTopics = defineConcurrentMigration("0026-outbox-topics", [
  { index: "outbox_topic", on: "outbox (topic, available_at, id)" },
  { index: "outbox_failing", on: "outbox (topic) where last_error is not null" },
  "drop index concurrently if exists outbox_due",
]);
