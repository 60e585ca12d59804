import type { Page } from "../../platform/db/paging.ts";
import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

type Reader = Pick<Database, "prepared">;

/** A certificate as lists show it. */
export interface CertificateRow {
  certUuid: string;
  serial: string;
  commonName: string;
  sans: string[];
  /** SHA-256, hexadecimal. */
  fingerprint: string;
  notBefore: Date;
  notAfter: Date;
  revokedAt: Date | null;
  metadata: Record<string, string>;
}

/** A certificate to store. */
export interface CertificateToStore extends Omit<CertificateRow, "revokedAt"> {
  caUuid: string;
  orgUuid: string;
  /** DER. */
  certificate: Buffer;
  createdAt: Date;
}

/** Which certificates to list, and in which order. */
export interface CertificateFilter {
  status: string | undefined;
  q: string | undefined;
  sort: string | undefined;
}

const columns = `c.cert_uuid as "certUuid", c.serial, c.common_name as "commonName", c.sans, c.fingerprint,
  c.not_before as "notBefore", c.not_after as "notAfter", coalesce(c.revoked_at, a.deleted_at) as "revokedAt",
  c.metadata`;
const from = "from mtls_certificates c join mtls_cas a on a.ca_uuid = c.ca_uuid and a.org_uuid = c.org_uuid";
const status = `case when coalesce(c.revoked_at, a.deleted_at) is not null then 'revoked'
  when c.not_after <= $2 then 'expired' else 'active' end`;
const filtered = `${from} where c.org_uuid = $1 and ($3::text is null or ${status} = $3)
  and ($4::text is null or strpos(lower(c.common_name), lower($4)) > 0 or strpos(c.serial, lower($4)) > 0
    or strpos(lower(array_to_string(c.sans, ' ')), lower($4)) > 0)`;

/** Orders by the contract's name. */
const ORDERS: Readonly<Record<string, string>> = {
  created_at: "c.created_at, c.cert_uuid desc",
  "-created_at": "c.created_at desc, c.cert_uuid",
  common_name: "c.common_name, c.cert_uuid",
  "-common_name": "c.common_name desc, c.cert_uuid desc",
  not_after: "c.not_after, c.cert_uuid",
  "-not_after": "c.not_after desc, c.cert_uuid desc",
};

/** Stores a certificate; false when its authority was deleted. The deletion waits for this transaction. */
export async function insertCertificate(tx: Tx, row: CertificateToStore): Promise<boolean> {
  const sql = `insert into mtls_certificates (cert_uuid, ca_uuid, org_uuid, serial, common_name, sans, fingerprint,
      certificate, metadata, created_at, not_before, not_after)
    select $1, a.ca_uuid, a.org_uuid, $4, $5, $6, $7, $8, $9, $10, $11, $12 from mtls_cas a
    where a.ca_uuid = $2 and a.org_uuid = $3 and a.deleted_at is null for share of a returning 1 as one`;
  const rows = await tx.query(sql, [
    row.certUuid,
    row.caUuid,
    row.orgUuid,
    row.serial,
    row.commonName,
    row.sans,
    row.fingerprint,
    row.certificate,
    JSON.stringify(row.metadata),
    row.createdAt,
    row.notBefore,
    row.notAfter,
  ]);
  return rows.length > 0;
}

/** Certificates of an organization, by default newest first. */
export async function certificatesOf(
  database: Reader,
  orgUuid: string,
  filter: CertificateFilter,
  { limit, offset }: Page,
  at: Date,
): Promise<{ rows: CertificateRow[] } & Total> {
  const sort = filter.sort ?? "-created_at";
  const params = [orgUuid, at, filter.status ?? null, filter.q ?? null];
  const [rows, counts] = await Promise.all([
    database.prepared<CertificateRow>(
      `mtls-certificates-by-${sort}`,
      `select ${columns} ${filtered} order by ${ORDERS[sort]} limit $5 offset $6`,
      [...params, limit, offset],
    ),
    database.prepared<{ counted: number }>("mtls-certificates-count", boundedCount(filtered), params),
  ]);
  return { rows, ...totalOf(counts) };
}

/** A certificate of an organization, with its DER. */
export async function certificateOf(
  database: Reader,
  orgUuid: string,
  certUuid: string,
): Promise<(CertificateRow & { certificate: Buffer }) | undefined> {
  const sql = `select ${columns}, c.certificate ${from} where c.org_uuid = $1 and c.cert_uuid = $2`;
  return (
    await database.prepared<CertificateRow & { certificate: Buffer }>("mtls-certificate", sql, [orgUuid, certUuid])
  )[0];
}

/**
 * Revokes a certificate. Revocations of one authority are numbered and commit in that order, so that a list that has
 * the first n misses none of them.
 */
export async function revokeCertificate(
  tx: Tx,
  orgUuid: string,
  certUuid: string,
  at: Date,
): Promise<{ serial: string } | "already_revoked" | "not_found"> {
  const locked = await tx.query<{ revocation: number }>(
    `update mtls_cas a set revocations = revocations + 1 from mtls_certificates c
     where c.org_uuid = $1 and c.cert_uuid = $2 and a.ca_uuid = c.ca_uuid and a.deleted_at is null
     returning a.revocations as revocation`,
    [orgUuid, certUuid],
  );
  const [revoked] = await tx.query<{ serial: string }>(
    `update mtls_certificates set revoked_at = $3, revocation = $4
     where org_uuid = $1 and cert_uuid = $2 and revoked_at is null and $4::integer is not null returning serial`,
    [orgUuid, certUuid, at, locked[0]?.revocation ?? null],
  );
  if (revoked !== undefined) return revoked;
  const sql = "select 1 as one from mtls_certificates where org_uuid = $1 and cert_uuid = $2";
  return (await tx.query(sql, [orgUuid, certUuid])).length > 0 ? "already_revoked" : "not_found";
}

/** Removes certificates that expired before a time, at most `limit`; returns how many. */
export async function deleteExpired(tx: Tx, before: Date, limit: number): Promise<number> {
  const sql = `delete from mtls_certificates where ctid = any (array(
    select ctid from mtls_certificates where not_after < $1 limit $2 for update skip locked)) returning 1`;
  return (await tx.query(sql, [before, limit])).length;
}
