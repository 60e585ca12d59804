import { defineMigration } from "../platform/db/migrator.ts";

/** What the quote of an install pays for, and when the end of a subscription was requested here. */
export const purchases = defineMigration("0103-purchases", [
  "alter table quotes add column if not exists interval text",
  "alter table subscriptions add column if not exists ending_requested_at timestamptz",
]);
