import type { Database, Tx } from "../../platform/db/types.ts";
import type { RevokedCertificate } from "../../platform/x509/revocation-list.ts";

/** State of an organization's revocation list. */
export interface ListState {
  /** Number of the signed list; 0 before the first. */
  number: number;
  /** How many SVIDs were ever revoked. */
  revocations: number;
  /** How many of them the signed list covers. */
  covers: number;
  signedAt: Date | null;
}

/** A signed list. */
export interface SignedList {
  number: number;
  /** DER. */
  list: Buffer;
}

/** Reads the state of an organization's list. */
export async function listState(database: Pick<Database, "prepared">, orgUuid: string): Promise<ListState> {
  const sql = `select number::int, revocations::int, covers::int, signed_at as "signedAt"
    from spiffe_revocation_lists where org_uuid = $1`;
  const rows = await database.prepared<ListState>("spiffe-list-state", sql, [orgUuid]);
  return rows[0] ?? { number: 0, revocations: 0, covers: 0, signedAt: null };
}

/** The list that was signed last; undefined before the first. */
export async function signedList(
  database: Pick<Database, "prepared">,
  orgUuid: string,
): Promise<SignedList | undefined> {
  const sql = "select number::int, list from spiffe_revocation_lists where org_uuid = $1 and list is not null";
  return (await database.prepared<SignedList>("spiffe-list", sql, [orgUuid]))[0];
}

/**
 * The revoked SVIDs of an organization that expire after a time, with the state they belong to. One statement: both are
 * of the same moment.
 */
export async function revokedWithState(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  after: Date,
): Promise<ListState & { entries: RevokedCertificate[] }> {
  const sql = `select coalesce(l.number, 0)::int as number, coalesce(l.revocations, 0)::int as revocations,
      coalesce(l.covers, 0)::int as covers, l.signed_at as "signedAt", s.serial, s.revoked_at as "revokedAt"
    from (select $1::uuid as org_uuid) o
    left join spiffe_revocation_lists l on l.org_uuid = o.org_uuid
    left join svids s on s.org_uuid = o.org_uuid and s.revoked_at is not null and s.not_after > $2
    order by s.revoked_at, s.serial`;
  const rows = await database.prepared<ListState & (RevokedCertificate | Record<keyof RevokedCertificate, null>)>(
    "spiffe-list-entries",
    sql,
    [orgUuid, after],
  );
  const { number = 0, revocations = 0, covers = 0, signedAt = null } = rows[0] ?? {};
  return { number, revocations, covers, signedAt, entries: rows.filter((row) => row.serial !== null) };
}

/** Stores a list as the successor of number `next.number - 1`; false when another one has succeeded that meanwhile. */
export async function storeList(
  tx: Tx,
  orgUuid: string,
  next: SignedList & { covers: number; signedAt: Date },
): Promise<boolean> {
  const sql = `insert into spiffe_revocation_lists as l (org_uuid, number, list, covers, signed_at)
    values ($1, $2, $3, $4, $5)
    on conflict (org_uuid) do update
      set number = excluded.number, list = excluded.list, covers = excluded.covers, signed_at = excluded.signed_at
      where l.number = excluded.number - 1
    returning 1 as one`;
  return (await tx.query(sql, [orgUuid, next.number, next.list, next.covers, next.signedAt])).length > 0;
}
