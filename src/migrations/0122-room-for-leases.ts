import { defineMigration } from "../platform/db/migrator.ts";

/**
 * Leaves more than half of each new page free. One statement may lease all deliveries of a page; the new version of
 * each row then fits on the same page and needs no index entries (HOT update). Recording an attempt may use the rest.
 * Takes a lock that allows writes (SHARE UPDATE EXCLUSIVE).
 */
export const roomForLeases = defineMigration("0122-room-for-leases", [
  "alter table webhook_deliveries set (fillfactor = 45)",
]);
