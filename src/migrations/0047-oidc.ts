import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// `client_secret` and `secrets` are sealed. Of states, cookies and session tokens the hash is stored alone.
const tables = `
  create table oidc_connections (
    uuid uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    provider text not null,
    client_id text not null,
    client_secret bytea not null,
    discovery_url text not null,
    allowed_domains text[] not null,
    redirect_uris text[] not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
  );
  create index oidc_connections_org on oidc_connections (org_uuid, created_at desc, uuid);

  create table oidc_states (
    hash bytea primary key,
    connection_uuid uuid not null references oidc_connections (uuid) on delete cascade,
    cookie_hash bytea not null,
    secrets bytea not null,
    redirect_uri text not null,
    client_state text,
    code_challenge text,
    issuer text not null,
    sends_issuer boolean not null,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    used_at timestamptz(3)
  );
  create index oidc_states_expiry on oidc_states (expires_at);
  create index oidc_states_connection on oidc_states (connection_uuid);

  create table oidc_session_tokens (
    hash bytea primary key,
    connection_uuid uuid not null references oidc_connections (uuid) on delete cascade,
    subject text not null,
    sid text,
    email text not null,
    first_name text not null,
    last_name text not null,
    cookie_hash bytea not null,
    code_challenge text,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    used_at timestamptz(3)
  );
  create index oidc_session_tokens_expiry on oidc_session_tokens (expires_at);
  create index oidc_session_tokens_connection on oidc_session_tokens (connection_uuid);

  create table oidc_identities (
    connection_uuid uuid not null references oidc_connections (uuid) on delete cascade,
    subject text collate "C" not null,
    user_uuid uuid not null references people (uuid),
    created_at timestamptz(3) not null,
    primary key (connection_uuid, subject),
    unique (connection_uuid, user_uuid)
  );
  create index oidc_identities_person on oidc_identities (user_uuid);
`;

// Which identity opened a session; `sid` is the session at the provider. For back-channel logout.
const sessions = `
  create table oidc_sessions (
    session_uuid uuid primary key references sessions (uuid) on delete cascade,
    connection_uuid uuid not null references oidc_connections (uuid) on delete cascade,
    subject text collate "C" not null,
    sid text collate "C"
  );
  create index oidc_sessions_subject on oidc_sessions (connection_uuid, subject);
  create index oidc_sessions_sid on oidc_sessions (connection_uuid, sid) where sid is not null;
`;

// Logout tokens that were accepted, so that a repeated one has no effect.
const logouts = `
  create table oidc_logouts (
    connection_uuid uuid not null references oidc_connections (uuid) on delete cascade,
    jti_hash bytea not null,
    expires_at timestamptz(3) not null,
    primary key (connection_uuid, jti_hash)
  );
  create index oidc_logouts_expiry on oidc_logouts (expires_at);
`;

/** Single sign-on through OpenID Connect (decisions 8.1 to 8.5, 17.8). */
export const oidcTables = defineMigration("0047-oidc", [
  tables,
  sessions,
  logouts,
  "alter table organizations add column sso_required boolean not null default false",
  grantApp(
    "oidc_connections",
    "oidc_states",
    "oidc_session_tokens",
    "oidc_identities",
    "oidc_sessions",
    "oidc_logouts",
  ),
]);
