import type { Database, Tx } from "../../platform/db/types.ts";
import { certain } from "../../platform/narrow.ts";
import type { RevokedCertificate } from "../../platform/x509/revocation-list.ts";

type Reader = Pick<Database, "prepared">;

/** The authority whose list an organization publishes, and its list that was signed last. */
export interface ListState {
  caUuid: string;
  /** Revocations so far. */
  revocations: number;
  /** Number of the list; 0 or an earlier authority's while none has been signed. */
  number: number;
  /** Revocations that are on the list. */
  listed: number;
  /** Null while none has been signed. */
  nextUpdate: Date | null;
}

/** A list that is about to be signed again: the row is locked. */
export interface ListToSign {
  number: number;
  listed: number;
  nextUpdate: Date | null;
  /** Null while none has been signed. */
  der: Buffer | null;
}

/** Entries that one statement reads. */
const BATCH = 10_000;

/** The state of a list of an organization: the named authority's, without a name the active or else the last one's. */
export async function listState(
  database: Reader,
  orgUuid: string,
  caUuid: string | undefined,
): Promise<ListState | undefined> {
  const sql = `select a.ca_uuid as "caUuid", a.revocations, l.number, l.revocations as listed,
      l.next_update as "nextUpdate"
    from mtls_cas a join mtls_crls l on l.ca_uuid = a.ca_uuid
    where a.org_uuid = $1 and ($2::uuid is null or a.ca_uuid = $2)
    order by a.deleted_at desc nulls first limit 1`;
  return (await database.prepared<ListState>("mtls-crl-state", sql, [orgUuid, caUuid ?? null]))[0];
}

/** A list that was signed, DER; undefined when there is a newer one. */
export async function signedList(database: Reader, caUuid: string, number: number): Promise<Buffer | undefined> {
  const sql = "select der from mtls_crls where ca_uuid = $1 and number = $2 and der is not null";
  return (await database.prepared<{ der: Buffer }>("mtls-crl", sql, [caUuid, number]))[0]?.der;
}

/** Locks the list of an authority until the transaction ends. */
export async function lockList(tx: Tx, caUuid: string): Promise<ListToSign | undefined> {
  const sql = `select number, revocations as listed, next_update as "nextUpdate", der
    from mtls_crls where ca_uuid = $1 for update`;
  return (await tx.query<ListToSign & Record<string, unknown>>(sql, [caUuid]))[0];
}

/** Revocations of an authority so far, and when it was deleted. */
export async function revocationsOf(
  tx: Tx,
  caUuid: string,
): Promise<{ revocations: number; deletedAt: Date | null } | undefined> {
  const sql = `select revocations, deleted_at as "deletedAt" from mtls_cas where ca_uuid = $1`;
  return (await tx.query<{ revocations: number; deletedAt: Date | null }>(sql, [caUuid]))[0];
}

/** The revocations of an active authority after number `after` and up to `upTo`, in their order. */
export async function revokedBetween(
  tx: Tx,
  caUuid: string,
  after: number,
  upTo: number,
): Promise<RevokedCertificate[]> {
  const sql = `select serial, revoked_at as "revokedAt", revocation from mtls_certificates
    where ca_uuid = $1 and revocation > $2 and revocation <= $3 order by revocation limit $4`;
  const all: RevokedCertificate[] = [];
  for (let last = after; ; ) {
    const rows = await tx.query<{ serial: string; revokedAt: Date; revocation: number }>(sql, [
      caUuid,
      last,
      upTo,
      BATCH,
    ]);
    all.push(...rows);
    if (rows.length < BATCH) return all;
    last = certain(rows.at(-1), "row of a full batch").revocation;
  }
}

/** Everything that a deleted authority issued: its deletion ended what was not revoked before. */
export async function everythingOf(tx: Tx, caUuid: string, deletedAt: Date): Promise<RevokedCertificate[]> {
  const sql = `select serial, revoked_at as "revokedAt" from mtls_certificates
    where ca_uuid = $1 and serial > $2 order by serial limit $3`;
  const all: RevokedCertificate[] = [];
  for (let last = ""; ; ) {
    const rows = await tx.query<{ serial: string; revokedAt: Date | null }>(sql, [caUuid, last, BATCH]);
    for (const { serial, revokedAt } of rows)
      all.push(
        revokedAt === null ? { serial, revokedAt: deletedAt, reason: "cessationOfOperation" } : { serial, revokedAt },
      );
    if (rows.length < BATCH) return all;
    last = certain(rows.at(-1), "row of a full batch").serial;
  }
}

/** Stores the next list of an authority, whose row is locked. */
export async function storeList(
  tx: Tx,
  caUuid: string,
  list: { number: number; listed: number; thisUpdate: Date; nextUpdate: Date; der: Buffer },
): Promise<void> {
  await tx.query(
    `update mtls_crls set number = $2, revocations = $3, this_update = $4, next_update = $5, der = $6
     where ca_uuid = $1`,
    [caUuid, list.number, list.listed, list.thisUpdate, list.nextUpdate, list.der],
  );
}
