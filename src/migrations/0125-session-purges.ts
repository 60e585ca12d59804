import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/**
 * When the purge looks at a session next. A refresh moves the end of its session; an index over that end made each
 * refresh write all indexes of the table. The purge moves `purge_check_at` on instead, where a session lives. With room
 * on its page, a refresh then writes one new row version and no index. Instances of earlier versions store the default.
 */
export const sessionPurges = defineConcurrentMigration("0125-session-purges", [
  "alter table sessions add column if not exists purge_check_at timestamptz not null default '-infinity'",
  "alter table sessions set (fillfactor = 80)",
  { index: "sessions_purge", on: "sessions (purge_check_at)" },
  "drop index concurrently if exists sessions_expiry",
]);
