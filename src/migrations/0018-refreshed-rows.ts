import { defineMigration } from "../platform/db/migrator.ts";

/** Room in the pages for the one change of a refresh token, its use, so that it touches no index. */
export const refreshedRows = defineMigration("0018-refreshed-rows", [
  "alter table refresh_tokens set (fillfactor = 60)",
]);
