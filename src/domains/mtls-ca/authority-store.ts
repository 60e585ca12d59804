import type { Database, Tx } from "../../platform/db/types.ts";
import type { AuthorityAlgorithm } from "../../platform/x509/keys.ts";

type Reader = Pick<Database, "prepared">;

/** An authority without its key. */
export interface AuthorityRow {
  caUuid: string;
  commonName: string;
  keyAlgorithm: AuthorityAlgorithm;
  /** DER. */
  certificate: Buffer;
  createdAt: Date;
  expiresAt: Date;
}

/** What an authority signs with; `privateKey` is sealed. */
export interface SealedAuthority extends Pick<AuthorityRow, "keyAlgorithm" | "certificate"> {
  privateKey: Buffer;
}

const columns = `ca_uuid as "caUuid", common_name as "commonName", key_algorithm as "keyAlgorithm", certificate,
  created_at as "createdAt", expires_at as "expiresAt"`;

/** The active authority of an organization. */
export async function activeAuthority(database: Reader, orgUuid: string): Promise<AuthorityRow | undefined> {
  const sql = `select ${columns} from mtls_cas where org_uuid = $1 and deleted_at is null`;
  return (await database.prepared<AuthorityRow>("mtls-ca-active", sql, [orgUuid]))[0];
}

/** The key of an authority, of a deleted one as well. */
export async function sealedAuthority(database: Reader, caUuid: string): Promise<SealedAuthority | undefined> {
  const sql = `select key_algorithm as "keyAlgorithm", certificate, private_key as "privateKey"
    from mtls_cas where ca_uuid = $1`;
  return (await database.prepared<SealedAuthority>("mtls-ca-key", sql, [caUuid]))[0];
}

/**
 * Stores an authority, with a revocation list that is still to be signed. Lists of an organization are numbered
 * through: readers of its address see the numbers rise, whichever authority they are of. False when the organization
 * has an active one.
 */
export async function insertAuthority(
  tx: Tx,
  orgUuid: string,
  { caUuid, commonName, keyAlgorithm, certificate, createdAt, expiresAt }: AuthorityRow,
  privateKey: Buffer,
): Promise<boolean> {
  const sql = `with made as (
      insert into mtls_cas
        (ca_uuid, org_uuid, common_name, key_algorithm, certificate, private_key, created_at, expires_at)
      select $1, uuid, $3, $4, $5, $6, $7, $8 from organizations where uuid = $2 and deleted_at is null
      on conflict (org_uuid) where deleted_at is null do nothing returning ca_uuid)
    insert into mtls_crls (ca_uuid, number, revocations)
    select made.ca_uuid, coalesce((select max(l.number) from mtls_crls l join mtls_cas a using (ca_uuid)
      where a.org_uuid = $2), 0), 0 from made returning 1 as one`;
  const params = [caUuid, orgUuid, commonName, keyAlgorithm, certificate, privateKey, createdAt, expiresAt];
  return (await tx.query(sql, params)).length > 0;
}

/** Locks the active authority of an organization until the transaction ends. */
export async function lockAuthority(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from mtls_cas where org_uuid = $1 and deleted_at is null for no key update", [orgUuid]);
}

/** Deletes the active authority of an organization; returns it, undefined when there was none. */
export async function deleteAuthority(
  tx: Tx,
  orgUuid: string,
  at: Date,
): Promise<Pick<AuthorityRow, "caUuid" | "commonName"> | undefined> {
  const sql = `update mtls_cas set deleted_at = $2, revocations = revocations + 1
    where org_uuid = $1 and deleted_at is null returning ca_uuid as "caUuid", common_name as "commonName"`;
  return (await tx.query<{ caUuid: string; commonName: string }>(sql, [orgUuid, at]))[0];
}

/**
 * Removes deleted authorities that have no certificates any more, at most `limit`; not the last one of an organization,
 * whose revocation list is still published. Returns how many.
 */
export async function deleteEmptyAuthorities(tx: Tx, limit: number): Promise<number> {
  const sql = `delete from mtls_cas where ca_uuid = any (array(
    select a.ca_uuid from mtls_cas a where a.deleted_at is not null
      and not exists (select 1 from mtls_certificates c where c.ca_uuid = a.ca_uuid)
      and exists (select 1 from mtls_cas newer where newer.org_uuid = a.org_uuid
        and (newer.deleted_at is null or newer.deleted_at > a.deleted_at))
    order by a.ca_uuid limit $1 for update skip locked)) returning 1`;
  return (await tx.query(sql, [limit])).length;
}
