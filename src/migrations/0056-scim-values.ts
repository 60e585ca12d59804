import { defineMigration } from "../platform/db/migrator.ts";

// With pending entries every filter would read them one by one, and the planner would avoid the index.
const values =
  "alter index scim_users_values set (fastupdate = off); select gin_clean_pending_list('scim_users_values');";

/** Entries of the index of SCIM attributes are written at once. */
export const scimValues = defineMigration("0056-scim-values", [values]);
