import { defineMigration } from "../platform/db/migrator.ts";

const certificates = `
  -- Certificates that the listener of mutual TLS presents when the operator has set none.
  create table listener_certificates (
    -- Host of SERVICE_BASE_URL.
    host text primary key,
    -- DER.
    certificate bytea not null,
    -- PKCS #8, sealed.
    private_key bytea not null,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null
  );
  grant select, insert, update on listener_certificates to atrium_app;
`;

/** The service's own certificate for mutual TLS. */
export const listenerCertificates = defineMigration("0045-mtls-listener", [certificates]);
