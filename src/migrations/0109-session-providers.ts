import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// Unlike `oidc_sessions` it stays when the connection is deleted, and when a session no longer has a source.
const provider = `
  alter table sessions
    -- The organization whose identity provider opened this session, or one whose token opened it.
    add column if not exists provider_org_uuid uuid
`;

/** Sessions that end with the organization whose identity provider opened them, and with the membership there. */
export const sessionProviders = defineConcurrentMigration("0109-session-providers", [
  provider,
  { index: "sessions_provider", on: "sessions (provider_org_uuid) where provider_org_uuid is not null" },
]);
