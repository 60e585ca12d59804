import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// A deleted authority keeps its sealed key: its final revocation list is signed again every day, as long as somebody
// reads it. `revocations` rises with every revocation, under the row's lock, and with the deletion.
const authorities = `
  create table mtls_cas (
    ca_uuid uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    common_name text not null,
    key_algorithm text not null check (key_algorithm in ('rsa4096', 'ecdsa-p256')),
    certificate bytea not null,
    private_key bytea not null,
    revocations integer not null default 0,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    deleted_at timestamptz(3)
  );
  create unique index mtls_cas_active on mtls_cas (org_uuid) where deleted_at is null;
  create index mtls_cas_newest on mtls_cas (org_uuid, created_at desc);
`;

// `revocation` is the number of `mtls_cas.revocations` that the revocation took. The deletion of an authority changes
// no row: what it issued is revoked from its `deleted_at` on.
const certificates = `
  create table mtls_certificates (
    cert_uuid uuid primary key,
    ca_uuid uuid not null references mtls_cas (ca_uuid),
    org_uuid uuid not null references organizations (uuid),
    serial text collate "C" not null,
    common_name text not null,
    sans text[] not null,
    fingerprint text not null,
    certificate bytea not null,
    metadata jsonb not null,
    created_at timestamptz(3) not null,
    not_before timestamptz(3) not null,
    not_after timestamptz(3) not null,
    revoked_at timestamptz(3),
    revocation integer,
    unique (ca_uuid, serial)
  );
  create index mtls_certificates_newest on mtls_certificates (org_uuid, created_at desc, cert_uuid);
  create index mtls_certificates_names on mtls_certificates (org_uuid, common_name, cert_uuid);
  create index mtls_certificates_ends on mtls_certificates (org_uuid, not_after, cert_uuid);
  create index mtls_certificates_revoked on mtls_certificates (ca_uuid, revocation) where revocation is not null;
  create index mtls_certificates_expiry on mtls_certificates (not_after);
`;

// The list that was signed last; it has the first `revocations` of the authority. Serial numbers do not compress.
const lists = `
  create table mtls_crls (
    ca_uuid uuid primary key references mtls_cas (ca_uuid) on delete cascade,
    number integer not null,
    revocations integer not null,
    this_update timestamptz(3),
    next_update timestamptz(3),
    der bytea
  );
  alter table mtls_crls alter column der set storage external;
`;

/** Certificate authorities of organizations. */
export const mtlsCaTables = defineMigration("0043-mtls-ca", [
  authorities,
  certificates,
  lists,
  grantApp("mtls_cas", "mtls_certificates", "mtls_crls"),
]);
