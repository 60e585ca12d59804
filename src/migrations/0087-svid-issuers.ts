import { defineMigration } from "../platform/db/migrator.ts";

/** Which SVIDs were issued by an administrator, who may give an identity another SPIFFE id than its own. */
export const svidIssuers = defineMigration("0087-svid-issuers", [
  // False for those issued before: nothing says who issued them.
  "alter table svids add column if not exists issued_by_admin boolean not null default false",
]);
