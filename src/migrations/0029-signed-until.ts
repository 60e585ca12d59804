import { defineMigration } from "../platform/db/migrator.ts";

const signedUntil = `
  -- When the last of what a key signed expires, where that may be after the key's overlap. Rows are only inserted:
  -- transactions that sign at the same time must not wait for each other. No foreign key for the same reason.
  create table signing_key_uses (
    kid text not null,
    until timestamptz(3) not null
  );
  create index signing_key_uses_kid on signing_key_uses (kid, until);
  create index signing_key_uses_until on signing_key_uses (until);
  grant select, insert, update, delete on signing_key_uses to atrium_app;
`;

/** How long a replaced key has to stay in the key set for what it signed. */
export const signingKeyUses = defineMigration("0029-signed-until", [signedUntil]);
