import { randomUUID, X509Certificate } from "node:crypto";
import { issue, rootOf } from "../support/certificates.ts";
import type { Leaf, Signer } from "../support/certificates.ts";
import { freePort, runSql } from "../support/postgres.ts";
import type { Environment } from "./environment.ts";
import { HOST, organizationOf } from "./seeded-people.ts";
import type { Service } from "./service.ts";

/** A service with mutual TLS, and an SVID of a service identity of one of its organizations. */
export interface WithWorkload extends Service {
  mtlsPort: number;
  root: Signer;
  svid: Leaf;
  /** What `GET /api/auth/me` returns to the SVID. */
  meOfSvid: { answerBytes: number };
}

/** Seeds organizations with roots; roots are copies with key identifiers of their own, which is how they are found. */
const ROOTS = `
  with made as (
    insert into organizations (uuid, name, created_at, updated_at)
    select gen_random_uuid(), 'Seeded ' || n, now(), now() from generate_series(1, $2::integer) n returning uuid)
  insert into spiffe_roots (org_uuid, certificate, key_id, private_key, jwt_key_id, jwt_public_jwk, jwt_private_key,
    created_at, expires_at)
  select made.uuid, certificate, decode(md5(made.uuid::text), 'hex'), private_key, jwt_key_id, jwt_public_jwk,
    jwt_private_key, now(), expires_at
  from made, spiffe_roots where org_uuid = $1`;

/** Starts a service of this many organizations with roots, for one row or all. */
export async function withWorkload(
  environment: Environment,
  name: string,
  { organizations }: { organizations: number },
): Promise<WithWorkload> {
  const mtlsPort = await freePort();
  const service = await environment.serviceOn(name, {
    seededPeople: { people: 2, sessions: 16 },
    env: { SERVICE_MTLS_PORT: String(mtlsPort) },
  });
  const { databaseUrl } = service;
  const org = organizationOf(service, HOST);
  const [{ count } = { count: 0 }] = await runSql<{ count: number }>(
    databaseUrl,
    "select count(*)::int as count from spiffe_roots",
  );
  if (organizations > count) {
    environment.log(`seeding ${organizations.toLocaleString("en")} organizations with roots`);
    await runSql(databaseUrl, ROOTS, [org, organizations - count]);
    await runSql(databaseUrl, "vacuum (analyze)");
  }
  const root = await rootOf(service, org);
  const identityId = randomUUID();
  const spiffeId = `spiffe://${org}.atrium.local/svc/${identityId}`;
  const svid = await issue(Date.now(), root, { uris: [spiffeId] });
  await runSql(
    databaseUrl,
    `insert into service_identities (identity_id, org_uuid, name, role_id, created_at, updated_at)
     values ($1, $2, 'workload ' || $3, 1, now(), now())`,
    [identityId, org, identityId],
  );
  await runSql(
    databaseUrl,
    `insert into svids (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at)
     values (gen_random_uuid(), $1, $2, $3, $4, $5, $6, now())`,
    [
      identityId,
      org,
      spiffeId,
      svid.serial,
      new Date(new X509Certificate(svid.cert).validFrom),
      new Date(new X509Certificate(svid.cert).validTo),
    ],
  );
  return { ...service, mtlsPort, root, svid, meOfSvid: { answerBytes: await lengthOfMe(mtlsPort, svid) } };
}

/** What makes leaves of the service's root those of so many seeded organizations. */
export async function seededRoots(
  { databaseUrl }: Service,
  count: number,
): Promise<{ issuerKeyId: string; uris: string[] }[]> {
  const rows = await runSql<{ org: string; key: Buffer }>(
    databaseUrl,
    "select org_uuid as org, key_id as key from spiffe_roots where length(key_id) = 16 limit $1",
    [count],
  );
  return rows.map(({ org, key }) => ({
    issuerKeyId: key.toString("hex"),
    uris: [`spiffe://${org}.atrium.local/svc/seeded`],
  }));
}

/** Length of the response of `GET /api/auth/me` over TLS. */
export async function lengthOfMe(
  port: number,
  { cert, key }: { cert?: string; key?: string },
  headers: Record<string, string> = {},
): Promise<number> {
  const { request } = await import("node:https");
  return new Promise((resolve, reject) => {
    request(
      {
        host: "127.0.0.1",
        port,
        path: "/api/auth/me",
        headers,
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        rejectUnauthorized: false,
      },
      (response) => {
        let bytes = 0;
        response.on("data", (chunk: Buffer) => (bytes += chunk.length));
        response.on("end", () =>
          response.statusCode === 200 ? resolve(bytes) : reject(new Error(`/me answers ${response.statusCode}`)),
        );
      },
    )
      .on("error", reject)
      .end();
  });
}
