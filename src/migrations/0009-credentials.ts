import { defineMigration } from "../platform/db/migrator.ts";

const keys = `
  alter table signing_keys
    -- The key was replaced by a rotation, which is under way until the key is no longer valid.
    add column rotation boolean not null default false,
    -- Its overlap is over and has been told of.
    add column retired_at timestamptz(3);
`;

const credentials = `
  create table api_keys (
    key_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    hash bytea not null,
    prefix text not null,
    last4 text not null,
    scopes text[] not null,
    made_by uuid not null references people (uuid),
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  );
  create index api_keys_org on api_keys (org_uuid, created_at desc, key_id);
  create index api_keys_maker on api_keys (made_by, org_uuid);

  create table scim_tokens (
    token_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    hash bytea not null,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  );
  create index scim_tokens_org on scim_tokens (org_uuid, created_at desc, token_id);

  grant select, insert, update, delete on api_keys, scim_tokens to atrium_app;
`;

/** Rotation of signing keys; API keys and SCIM tokens. */
export const credentialTables = defineMigration("0009-credentials", [keys, credentials]);
