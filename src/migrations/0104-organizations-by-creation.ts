import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** The order by creation of the list of all organizations. */
export const organizationsByCreation = defineConcurrentMigration("0104-organizations-by-creation", [
  { index: "organizations_by_creation", on: "organizations (created_at, uuid) where deleted_at is null" },
]);
