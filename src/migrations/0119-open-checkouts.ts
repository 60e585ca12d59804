import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Checkouts by their organization, which are closed when it is deleted. */
export const openCheckouts = defineConcurrentMigration("0119-open-checkouts", [
  { index: "checkouts_organization", on: "checkouts (org_uuid) where session_id is not null" },
]);
