import type { Database, Tx } from "../../platform/db/types.ts";
import type { SealRow } from "./master-keys.ts";

/** Columns of {@link SealRow}, of `vault_seal s`. */
export const SEAL_COLUMNS = `s.sealed, s.epoch, s.shared_key as "sharedKey"`;

/** The seal with what unsealing needs. */
export interface SealState extends SealRow {
  keyCheck: Buffer | null;
  progress: number;
}

const stateSql = `select ${SEAL_COLUMNS}, s.key_check as "keyCheck",
    (select count(*)::int from vault_unseal_shares) as progress
  from vault_seal s`;

const only = <R>(rows: readonly R[]): R => {
  const [row] = rows;
  if (row === undefined) throw new Error("the table vault_seal has no row");
  return row;
};

/** The seal. */
export async function readSeal(database: Pick<Database, "prepared">): Promise<SealRow> {
  return only(await database.prepared<SealRow>("vault-seal", `select ${SEAL_COLUMNS} from vault_seal s`, []));
}

/** The seal in a transaction. */
export async function sealIn(tx: Pick<Tx, "query">): Promise<SealRow> {
  return only(await tx.query<SealRow>(`select ${SEAL_COLUMNS} from vault_seal s`));
}

/** The seal with its key check and the number of entered shares. */
export async function readSealState(database: Pick<Database, "prepared">): Promise<SealState> {
  return only(await database.prepared<SealState>("vault-seal-state", stateSql, []));
}

/** The seal, locked: one operator's entry after another. */
export async function lockSeal(tx: Tx): Promise<SealState> {
  return only(await tx.query<SealState>(`${stateSql} for no key update of s`));
}

/** Stores the check of the first master key; keeps an existing one. */
export async function insertKeyCheck(tx: Tx, check: Buffer): Promise<void> {
  await tx.query("update vault_seal set key_check = $1 where key_check is null", [check]);
}

/** Seals the vault, and forgets the entered key. */
export async function markSealed(tx: Tx, at: Date): Promise<void> {
  await tx.query("update vault_seal set sealed = true, epoch = epoch + 1, shared_key = null, changed_at = $1", [at]);
}

/** Unseals the vault. */
export async function markUnsealed(tx: Tx, epoch: number, sharedKey: Buffer, at: Date): Promise<void> {
  const sql = "update vault_seal set sealed = false, epoch = $1, shared_key = $2, changed_at = $3";
  await tx.query(sql, [epoch, sharedKey, at]);
}

/** An entered share, sealed with the instance key. */
export interface ShareRow {
  x: number;
  box: Buffer;
}

/** The entered shares. */
export function entered(tx: Tx): Promise<ShareRow[]> {
  return tx.query<ShareRow>("select x, box from vault_unseal_shares order by x limit 255");
}

/** Adds an entered share. */
export async function insertShare(tx: Tx, { x, box }: ShareRow, at: Date): Promise<void> {
  await tx.query("insert into vault_unseal_shares (x, box, created_at) values ($1, $2, $3)", [x, box, at]);
}

/** Removes the entered shares. */
export async function deleteShares(tx: Tx): Promise<void> {
  await tx.query("delete from vault_unseal_shares");
}
