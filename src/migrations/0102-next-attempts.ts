import { defineMigration } from "../platform/db/migrator.ts";

/** When the attempt after one that failed is made: the timeline of an install says it. */
export const nextAttempts = defineMigration("0102-next-attempts", [
  "alter table install_timeline add column if not exists next_attempt_at timestamptz",
]);
