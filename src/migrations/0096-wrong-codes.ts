import { defineMigration } from "../platform/db/migrator.ts";

/** Wrong codes at step-up, which proofs by password or mail do not reset. */
export const wrongCodes = defineMigration("0096-wrong-codes", [
  "alter table mfa_failures add column wrong_codes integer not null default 0",
]);
