import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// One row for the installation. `epoch` changes whenever the vault is sealed or unsealed. `key_check` is sealed with
// the master key. `shared_key` is a master key that an operator entered, wrapped with the instance key.
const seal = `
  create table vault_seal (
    only_row boolean primary key default true check (only_row),
    sealed boolean not null,
    epoch integer not null,
    key_check bytea,
    shared_key bytea,
    changed_at timestamptz
  );
  insert into vault_seal (sealed, epoch) values (false, 0);
  create table vault_unseal_shares (
    x smallint primary key check (x between 1 and 255),
    box bytea not null,
    created_at timestamptz not null
  );
`;

// One key for each organization, wrapped with the master key.
const keys = `
  create table vault_keyrings (
    org_uuid uuid primary key references organizations (uuid),
    key_id uuid not null,
    box bytea not null,
    created_at timestamptz not null
  );
`;

// A name keeps its row when it is deleted: version numbers continue. Versions below `first_version` belong to a
// deletion before the name was written again: nothing reads them, and the tidy tasks remove them.
const secrets = `
  create table vault_secrets (
    secret_id bigint generated always as identity primary key,
    org_uuid uuid not null references organizations (uuid),
    name text collate "C" not null,
    version integer not null,
    first_version integer not null,
    written_at timestamptz not null,
    tags text[] not null,
    description text,
    deleted_at timestamptz,
    restorable_until timestamptz,
    has_remains boolean not null default false,
    unique (org_uuid, name),
    check ((deleted_at is null) = (restorable_until is null))
  );
  create index vault_secrets_over on vault_secrets (restorable_until) where deleted_at is not null;
  create index vault_secrets_remains on vault_secrets (secret_id) where has_remains;
  create table vault_versions (
    secret_id bigint not null references vault_secrets (secret_id),
    version integer not null,
    key_id uuid not null,
    wrapped_key bytea not null,
    value bytea not null,
    created_at timestamptz not null,
    primary key (secret_id, version)
  );
  alter table vault_versions alter column value set storage external;
`;

/** Secrets of organizations, their keys, and the seal of the vault (decisions 7.1 to 7.3). */
export const vaultTables = defineMigration("0042-vault", [
  seal,
  keys,
  secrets,
  grantApp("vault_seal", "vault_unseal_shares", "vault_keyrings", "vault_secrets", "vault_versions"),
]);
