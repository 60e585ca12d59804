import { defineMigration } from "../platform/db/migrator.ts";

// Whose power an invitation stands on, where a service identity sent it.
const senders = `
  alter table invitations add column sender_identity uuid
    references service_identities (identity_id) on delete set null;
`;

/** Invitations that service identities send. */
export const identitySenders = defineMigration("0041-identity-senders", [senders]);
