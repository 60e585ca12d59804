import { defineMigration } from "../platform/db/migrator.ts";

// Whose power an invitation stands on: the person who sent it, or the maker of the key that did, whom no list names.
const senders = `
  alter table invitations add column sender uuid references people (uuid);
  update invitations set sender = invited_by;
`;

/** Invitations end with the membership of their sender (decisions 2.4). */
export const invitationSenders = defineMigration("0031-invitation-senders", [senders]);
