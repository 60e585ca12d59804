import { defineMigration } from "../platform/db/migrator.ts";

const roots = `
  -- The root of each organization's trust domain, and the key of its JWT-SVIDs.
  create table spiffe_roots (
    org_uuid uuid primary key references organizations (uuid),
    -- DER.
    certificate bytea not null,
    -- Subject key identifier, by which certificates name their issuer.
    key_id bytea not null unique,
    -- PKCS #8, sealed.
    private_key bytea not null,
    jwt_key_id text not null,
    jwt_public_jwk jsonb not null,
    -- PKCS #8, sealed.
    jwt_private_key bytea not null,
    -- Grows with every change of the keys.
    sequence integer not null default 1,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null
  );
  grant select, insert, update, delete on spiffe_roots to atrium_app;
`;

/** Roots of SPIFFE trust domains. */
export const spiffeRoots = defineMigration("0044-spiffe", [roots]);
