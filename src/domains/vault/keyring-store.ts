import type { Tx } from "../../platform/db/types.ts";
import type { SealRow } from "./master-keys.ts";
import { SEAL_COLUMNS } from "./seal-store.ts";

/** An organization's key, wrapped with the master key. */
export interface KeyringRow {
  keyId: string;
  box: Buffer;
}

const select = 'select key_id as "keyId", box from vault_keyrings where org_uuid = $1';

/**
 * The key of an organization. Until the transaction ends, a rotation does not complete, so that a version sealed with
 * this key is rewrapped by it.
 */
export async function keepKeyring(tx: Tx, orgUuid: string): Promise<KeyringRow | undefined> {
  return (await tx.query<KeyringRow>(`${select} for key share`, [orgUuid]))[0];
}

/** The seal, and the key of an organization as {@link keepKeyring} keeps it, in one statement. */
export async function keepSealedKeyring(
  tx: Tx,
  orgUuid: string,
): Promise<{ seal: SealRow; keyring: KeyringRow | undefined }> {
  const sql = `select ${SEAL_COLUMNS}, k.* from vault_seal s left join (${select} for key share) k on true`;
  const [row] = await tx.query<SealRow & (KeyringRow | { keyId: null })>(sql, [orgUuid]);
  if (row === undefined) throw new Error("the table vault_seal has no row");
  return { seal: row, keyring: row.keyId === null ? undefined : row };
}

/** Stores the first key of an organization; keeps an existing one. */
export async function insertKeyring(tx: Tx, orgUuid: string, { keyId, box }: KeyringRow, at: Date): Promise<void> {
  const sql = `insert into vault_keyrings (org_uuid, key_id, box, created_at) values ($1, $2, $3, $4)
    on conflict do nothing`;
  await tx.query(sql, [orgUuid, keyId, box, at]);
}

/** Makes a transaction the only one that rotates the key of an organization; false when another one is. */
export async function tryRotationLock(tx: Tx, orgUuid: string): Promise<boolean> {
  const sql = "select pg_try_advisory_xact_lock(hashtext('vault-rotation'), hashtext($1)) as locked";
  return (await tx.query<{ locked: boolean }>(sql, [orgUuid]))[0]?.locked === true;
}

/** The key of an organization, without a lock. */
export async function keyringOf(tx: Tx, orgUuid: string): Promise<KeyringRow | undefined> {
  return (await tx.query<KeyringRow>(select, [orgUuid]))[0];
}

/** Waits for the writes that use the present key, and holds back further ones until the transaction ends. */
export async function lockKeyring(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from vault_keyrings where org_uuid = $1 for update", [orgUuid]);
}

/** Replaces the key of an organization. */
export async function replaceKeyring(tx: Tx, orgUuid: string, { keyId, box }: KeyringRow, at: Date): Promise<void> {
  const sql = "update vault_keyrings set key_id = $2, box = $3, created_at = $4 where org_uuid = $1";
  await tx.query(sql, [orgUuid, keyId, box, at]);
}

/** The wrapped key of a version. */
export interface WrappedRow {
  secretId: string;
  name: string;
  version: number;
  wrappedKey: Buffer;
}

/** Position in the order of {@link wrappedWith}. */
export type Position = Pick<WrappedRow, "secretId" | "version">;

/** Versions of an organization that a key wraps, deleted ones included, after a position. */
export function wrappedWith(
  tx: Tx,
  orgUuid: string,
  keyId: string,
  after: Position,
  limit: number,
): Promise<WrappedRow[]> {
  return tx.query<WrappedRow>(
    `select v.secret_id as "secretId", s.name, v.version, v.wrapped_key as "wrappedKey"
     from vault_secrets s join vault_versions v on v.secret_id = s.secret_id
     where s.org_uuid = $1 and v.key_id = $2 and (v.secret_id, v.version) > ($3::bigint, $4::int)
     order by v.secret_id, v.version limit $5`,
    [orgUuid, keyId, after.secretId, after.version, limit],
  );
}

/** Stores newly wrapped keys. */
export async function putWrapped(
  tx: Tx,
  keyId: string,
  rows: readonly Pick<WrappedRow, "secretId" | "version" | "wrappedKey">[],
): Promise<void> {
  await tx.query(
    `update vault_versions v set key_id = $1, wrapped_key = n.wrapped_key
     from unnest($2::bigint[], $3::int[], $4::bytea[]) as n (secret_id, version, wrapped_key)
     where v.secret_id = n.secret_id and v.version = n.version`,
    [
      keyId,
      rows.map(({ secretId }) => secretId),
      rows.map(({ version }) => version),
      rows.map(({ wrappedKey }) => wrappedKey),
    ],
  );
}

/** Deletes the key of an organization: nothing that it wraps can be opened any more. */
export async function deleteKeyring(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("delete from vault_keyrings where org_uuid = $1", [orgUuid]);
}
