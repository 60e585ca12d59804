import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// mailbox_proven_at: when somebody first proved the mailbox otherwise than by the link of the sign-up. The account
// counts as confirmed (email_confirmed_at) once its second factor, if it has one, has been passed as well.
const proofs = "alter table people add column mailbox_proven_at timestamptz(3)";

// joins: the mail named the organization and said that the link also joins it.
const joins = "alter table mail_tokens add column joins boolean not null default false";

// Links with which the owner of a mailbox ends an account that was never confirmed. Only hashes are stored.
const disowning = `
  create table disown_tokens (
    hash bytea primary key,
    user_uuid uuid not null references people (uuid),
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    used_at timestamptz(3)
  );
  create index disown_tokens_user on disown_tokens (user_uuid);
  create index disown_tokens_expiry on disown_tokens (expires_at);
`;

/** Proofs of mailboxes, links that join an organization, and the end of accounts that were never confirmed. */
export const mailboxes = defineMigration("0022-mailboxes", [proofs, joins, disowning, grantApp("disown_tokens")]);
