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

const revocationLists = `
  create table spiffe_revocation_lists (
    org_uuid uuid primary key references organizations (uuid),
    -- How many SVIDs of the organization were ever revoked, counted in the transaction that revokes them.
    revocations bigint not null default 0,
    -- The list as it was last signed: its number, DER, time, and the value of revocations that it covers.
    number bigint not null default 0,
    list bytea,
    signed_at timestamptz(3),
    covers bigint not null default 0
  );
  grant select, insert, update, delete on spiffe_revocation_lists to atrium_app;

  create function count_svid_revocations() returns trigger language plpgsql as $count$
  begin
    insert into spiffe_revocation_lists as l (org_uuid, revocations)
      select n.org_uuid, count(*) from after_rows n join before_rows o using (svid_id)
      where n.revoked_at is not null and o.revoked_at is null group by n.org_uuid order by n.org_uuid
    on conflict (org_uuid) do update set revocations = l.revocations + excluded.revocations;
    return null;
  end $count$;
  create trigger svids_revoked after update on svids referencing old table as before_rows new table as after_rows
    for each statement execute function count_svid_revocations();
`;

/** Roots of SPIFFE trust domains, and their revocation lists. */
export const spiffeRoots = defineMigration("0044-spiffe", [roots, revocationLists]);
