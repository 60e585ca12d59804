import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

const identities = `
  -- A workload that acts in an organization with a role. Deleted ones stay while records of their credentials do.
  create table service_identities (
    identity_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    description text,
    role_id integer not null references roles (id),
    -- Rises with every change of role: what was authenticated before it commits nothing.
    version integer not null default 1,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    last_auth_at timestamptz(3),
    deleted_at timestamptz(3)
  );
  create unique index service_identities_name on service_identities (org_uuid, name) where deleted_at is null;
  create index service_identities_org on service_identities (org_uuid, created_at desc, identity_id)
    where deleted_at is null;
  create index service_identities_deleted on service_identities (deleted_at) where deleted_at is not null;
`;

const tokens = `
  create table automation_tokens (
    token_id uuid primary key,
    identity_id uuid not null references service_identities (identity_id),
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    hash bytea not null,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  );
  create index automation_tokens_org on automation_tokens (org_uuid, created_at desc, token_id);
  create index automation_tokens_identity on automation_tokens (identity_id, created_at desc, token_id);
  create index automation_tokens_revoked on automation_tokens (revoked_at) where revoked_at is not null;
  create index automation_tokens_expiry on automation_tokens (expires_at) where revoked_at is null;
`;

const svids = `
  -- X.509-SVIDs that were issued. The certificate itself and its key are not kept.
  create table svids (
    svid_id uuid primary key,
    identity_id uuid not null references service_identities (identity_id),
    org_uuid uuid not null references organizations (uuid),
    spiffe_id text not null,
    -- Lower-case hexadecimal.
    serial text not null,
    not_before timestamptz(3) not null,
    not_after timestamptz(3) not null,
    created_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    -- The issuer is the root of the organization.
    unique (org_uuid, serial)
  );
  create index svids_org on svids (org_uuid, created_at desc, svid_id);
  create index svids_identity on svids (identity_id, created_at desc, svid_id);
  create index svids_active on svids (identity_id, not_after) where revoked_at is null;
  create index svids_revoked on svids (org_uuid, not_after) where revoked_at is not null;
  create index svids_expiry on svids (not_after);
`;

/** Service identities, their automation tokens, and the SVIDs issued to them. */
export const serviceIdentityTables = defineMigration("0041-service-identities", [
  identities,
  tokens,
  svids,
  grantApp("service_identities", "automation_tokens", "svids"),
]);
