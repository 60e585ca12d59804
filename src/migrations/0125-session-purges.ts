import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/**
 * A lower bound of each session's end, for the purge, which looks at a session 30 days after it. A refresh moves
 * `expires_at`; an index on that column made each refresh write all indexes of the table. Where the session has a later
 * end, the purge moves `purge_check_at` to it instead. With room on its page, a refresh then writes one new row version
 * and no index entry. Instances of earlier versions store the default.
 */
export const sessionPurges = defineConcurrentMigration("0125-session-purges", [
  "alter table sessions add column if not exists purge_check_at timestamptz not null default '-infinity'",
  "alter table sessions set (fillfactor = 80)",
  { index: "sessions_purge", on: "sessions (purge_check_at)" },
  "drop index concurrently if exists sessions_expiry",
]);
