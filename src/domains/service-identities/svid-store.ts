import { createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { lockCredentials } from "../credentials/index.ts";

/** The record of an X.509-SVID. */
export interface SvidRow {
  svidId: string;
  identityId: string;
  spiffeId: string;
  /** Lower-case hexadecimal, unique in the organization. */
  serial: string;
  notBefore: Date;
  notAfter: Date;
  createdAt: Date;
  revokedAt: Date | null;
}

/** Filters of a list of SVIDs. */
export interface SvidFilter {
  identityId?: string | undefined;
  status?: "active" | "revoked" | "expired" | undefined;
}

const columns = `svid_id as "svidId", identity_id as "identityId", spiffe_id as "spiffeId", serial,
  not_before as "notBefore", not_after as "notAfter", created_at as "createdAt", revoked_at as "revokedAt"`;

const revoked = "revoked_at is not null";
/** Conditions of a status; `at` is the parameter with the time. */
const inStatus = {
  active: (at: string) => `revoked_at is null and not_after > ${at}`,
  expired: (at: string) => `revoked_at is null and not_after <= ${at}`,
} as const;

/** An SVID to store. */
export interface NewSvid extends Omit<SvidRow, "revokedAt"> {
  /** False when the identity obtained it by itself. */
  byAdmin: boolean;
}

/** Stores the record of an SVID of an identity that the transaction keeps. */
export async function insertSvid(tx: Tx, orgUuid: string, svid: NewSvid): Promise<void> {
  const { svidId, identityId, spiffeId, serial, notBefore, notAfter, createdAt, byAdmin } = svid;
  await tx.query(
    `insert into svids
       (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at, issued_by_admin)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [svidId, identityId, orgUuid, spiffeId, serial, notBefore, notAfter, createdAt, byAdmin],
  );
}

/** Whether an identity has an active SVID with a SPIFFE id that an administrator issued. */
export async function hasFromAdmin(tx: Tx, identityId: string, spiffeId: string, at: Date): Promise<boolean> {
  const sql = `select 1 as one from svids where identity_id = $1 and spiffe_id = $2 and issued_by_admin
    and revoked_at is null and not_after > $3 limit 1`;
  return (await tx.query(sql, [identityId, spiffeId, at])).length > 0;
}

/** SVIDs of an organization, newest first. */
export function svidsOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  { identityId, status }: SvidFilter,
  at: Date,
  page: Page,
): Promise<Listed<SvidRow>> {
  const params: unknown[] = [orgUuid];
  const clauses = ["org_uuid = $1"];
  if (identityId !== undefined) clauses.push(`identity_id = $${params.push(identityId)}`);
  if (status === "revoked") clauses.push(revoked);
  else if (status !== undefined) clauses.push(inStatus[status](`$${params.push(at)}`));
  const from = `from svids where ${clauses.join(" and ")}`;
  const sort = { created_at: createdAt() };
  const id = { sql: "svid_id", type: "uuid" } as const;
  const list = { name: "svids", columns, from, params, id, q: ["spiffe_id", "serial"], sort };
  // Few of an organization's SVIDs are active: those of 30 days are kept.
  const countOrder = status === undefined || status === "revoked" ? undefined : "not_after";
  return readList(database, { ...list, order: "-created_at", countOrder }, page);
}

/** The newest active SVIDs of an identity, at most `limit`. */
export function activeSvidsOf(
  database: Pick<Database, "prepared">,
  identityId: string,
  at: Date,
  limit: number,
): Promise<SvidRow[]> {
  return database.prepared<SvidRow>(
    "svids-active",
    `select ${columns} from svids where identity_id = $1 and revoked_at is null and not_after > $2
     order by created_at desc, svid_id limit $3`,
    [identityId, at, limit],
  );
}

/**
 * An SVID that is to end, locked with its organization until the transaction ends. Reauthorizes the caller before: the
 * end of its identity locks the caller before SVIDs.
 */
export async function lockSvid(tx: Tx, orgUuid: string, svidId: string): Promise<SvidRow | undefined> {
  await lockCredentials(tx, orgUuid);
  await tx.reauthorize();
  const sql = `select ${columns} from svids where org_uuid = $1 and svid_id = $2 for no key update`;
  return (await tx.query<SvidRow>(sql, [orgUuid, svidId]))[0];
}

/** Revokes an SVID; false when it is revoked already. */
export async function revokeSvid(tx: Tx, svidId: string, at: Date): Promise<boolean> {
  const sql = "update svids set revoked_at = $2 where svid_id = $1 and revoked_at is null returning 1 as one";
  return (await tx.query(sql, [svidId, at])).length > 0;
}

/**
 * Revokes at most `limit` SVIDs of an identity that have not expired; returns them. Fewer are the last ones: those that
 * another transaction revokes meanwhile do not count.
 */
export async function revokeSvidsOf(
  tx: Tx,
  identityId: string,
  at: Date,
  limit: number,
): Promise<Pick<SvidRow, "svidId" | "spiffeId" | "serial">[]> {
  const sql = `update svids s set revoked_at = $2
    from (
      select svid_id from svids where identity_id = $1 and revoked_at is null and not_after > $2
      limit $3 for no key update) as active
    where s.svid_id = active.svid_id
    returning s.svid_id as "svidId", s.spiffe_id as "spiffeId", s.serial`;
  return tx.query<Pick<SvidRow, "svidId" | "spiffeId" | "serial">>(sql, [identityId, at, limit]);
}

/** A revoked certificate as a revocation list names it. */
export interface RevokedSvid {
  serial: string;
  revokedAt: Date;
}

/** Revoked SVIDs of an organization that have not expired, by serial; what its revocation list names. */
export function revokedSvidsOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  at: Date,
): Promise<RevokedSvid[]> {
  const sql = `select serial, revoked_at as "revokedAt" from svids
    where org_uuid = $1 and revoked_at is not null and not_after > $2 order by serial`;
  return database.prepared<RevokedSvid>("svids-revoked", sql, [orgUuid, at]);
}
