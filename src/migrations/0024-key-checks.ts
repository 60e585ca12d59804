import { defineMigration } from "../platform/db/migrator.ts";

const keyChecks = `
  -- A known text sealed with a key: whoever cannot open it has another key.
  create table key_checks (
    key text primary key,
    box bytea not null,
    created_at timestamptz(3) not null
  );
  grant select, insert on key_checks to atrium_app;
`;

/** Proof that a process has the key that the database's secrets are sealed with. */
export const keyCheckTable = defineMigration("0024-key-checks", [keyChecks]);
