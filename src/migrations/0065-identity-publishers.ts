import { defineMigration } from "../platform/db/migrator.ts";

/** Apps that service identities publish: nobody in person made them, and no grant is given. */
export const identityPublishers = defineMigration("0065-identity-publishers", [
  "alter table apps alter column created_by drop not null",
]);
