import { defineMigration } from "../platform/db/migrator.ts";

/**
 * More room in new pages of deliveries: a lease takes all deliveries of a page in one statement, and each of them has
 * room for a second version there, without entries in the indexes. An attempt fills the rest. A lock that lets writes
 * go on.
 */
export const roomForLeases = defineMigration("0122-room-for-leases", [
  "alter table webhook_deliveries set (fillfactor = 45)",
]);
