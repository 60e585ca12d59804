import { createdAt, readList } from "../../platform/db/list.ts";
import type { Listed, ListSource } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
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

/** The status of a certificate. */
export type CertificateStatus = "active" | "expired" | "revoked";

const revokedAt = "coalesce(c.revoked_at, a.deleted_at)";
const columns = `c.cert_uuid as "certUuid", c.serial, c.common_name as "commonName", c.sans, c.fingerprint,
  c.not_before as "notBefore", c.not_after as "notAfter", ${revokedAt} as "revokedAt",
  c.metadata`;
// A left join on the key alone, and conditions on columns: PostgreSQL expects almost no rows of an inner join on two
// correlated columns or of a condition on an expression, and would read and sort all certificates of the organization.
const from = "from mtls_certificates c left join mtls_cas a on a.ca_uuid = c.ca_uuid";
const unrevoked = "c.revoked_at is null and a.deleted_at is null";
/** Conditions of a status; `at` is the parameter with the time. */
const inStatus: Readonly<Record<CertificateStatus, (at: string) => string>> = {
  active: (at) => `${unrevoked} and c.not_after > ${at}`,
  expired: (at) => `${unrevoked} and c.not_after <= ${at}`,
  revoked: () => "(c.revoked_at is not null or a.deleted_at is not null)",
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
export function certificatesOf(
  database: Reader,
  orgUuid: string,
  status: CertificateStatus | undefined,
  page: Page,
  at: Date,
): Promise<Listed<CertificateRow>> {
  const params: unknown[] = [orgUuid];
  const parameter = status === undefined || status === "revoked" ? "" : `$${params.push(at)}`;
  const filter = status === undefined ? "" : ` and ${inStatus[status](parameter)}`;
  const list: ListSource = {
    name: "mtls-certificates",
    columns,
    from: `${from} where c.org_uuid = $1${filter}`,
    params,
    id: { sql: "c.cert_uuid", type: "uuid" },
    q: ["c.common_name", "c.serial", "array_to_string(c.sans, ' ')"],
    sort: {
      created_at: createdAt("c."),
      common_name: { sql: "c.common_name", type: "text" },
      not_after: { sql: "c.not_after", type: "timestamptz" },
    },
    order: "-created_at",
    countOrder: parameter === "" ? undefined : "c.not_after",
  };
  return readList(database, list, page);
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
