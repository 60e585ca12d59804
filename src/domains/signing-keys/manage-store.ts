import type { KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { isPublished } from "./store.ts";

/** A signing key without its private half. */
export interface KeyRow {
  kid: string;
  algorithm: KeyAlgorithm;
  description: string;
  publicPem: string;
  active: boolean;
  /** Null for the active key. */
  validUntil: Date | null;
  /** Whether a rotation replaced it. */
  rotation: boolean;
  createdAt: Date;
}

const columns = `kid, algorithm, description, public_pem as "publicPem", active, valid_until as "validUntil", rotation,
  created_at as "createdAt"`;
const newestFirst = "order by created_at desc, kid";

/**
 * Locks an organization's keys against other changes until the transaction ends. `for update` would make sessions wait
 * too, which refer to the organization: those that their person opens have locked the membership before.
 */
export async function lockKeys(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
}

/** Keys of the key set at a time, newest first. */
export function listKeys(database: Pick<Database, "prepared">, orgUuid: string, at: Date): Promise<KeyRow[]> {
  const sql = `select ${columns} from signing_keys where org_uuid = $1 and ${isPublished} ${newestFirst}`;
  return database.prepared<KeyRow>("signing-keys-list", sql, [orgUuid, at]);
}

/** A key of the key set at a time; undefined when the organization has no such key. */
export async function findKey(tx: Tx, orgUuid: string, at: Date, kid: string): Promise<KeyRow | undefined> {
  const sql = `select ${columns} from signing_keys where org_uuid = $1 and ${isPublished} and kid = $3`;
  return (await tx.query<KeyRow>(sql, [orgUuid, at, kid]))[0];
}

/** Keys that are valid at a time, newest first. */
export function validKeys(tx: Tx, orgUuid: string, at: Date): Promise<KeyRow[]> {
  return tx.query<KeyRow>(
    `select ${columns} from signing_keys
     where org_uuid = $1 and (valid_until is null or valid_until > $2) ${newestFirst}`,
    [orgUuid, at],
  );
}

/** Deactivates a key; it remains valid until `validUntil`. */
export async function replaceKey(tx: Tx, kid: string, validUntil: Date, rotation: boolean): Promise<void> {
  await tx.query("update signing_keys set active = false, valid_until = $2, rotation = $3 where kid = $1", [
    kid,
    validUntil,
    rotation,
  ]);
}

/** Deletes a key; nothing it signed is accepted afterwards. */
export async function deleteKey(tx: Tx, kid: string): Promise<void> {
  await tx.reauthorize();
  await tx.query("delete from signing_keys where kid = $1", [kid]);
}

/** Ids of replaced keys whose overlap is not recorded as ended, in order, after one of them. */
export async function overlappingKeys(
  database: Pick<Database, "prepared">,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql = `select kid from signing_keys where not active and retired_at is null and kid > coalesce($1, '')
    order by kid limit $2`;
  const rows = await database.prepared<{ kid: string }>("signing-keys-overlapping", sql, [after, limit]);
  return rows.map((row) => row.kid);
}

/** When a replaced key's overlap ends; undefined when the key is deleted, active or retired. */
export async function overlapEnd(database: Pick<Database, "prepared">, kid: string): Promise<Date | undefined> {
  const sql = `select valid_until as "validUntil" from signing_keys
    where kid = $1 and not active and retired_at is null`;
  const rows = await database.prepared<{ validUntil: Date | null }>("signing-keys-overlap-end", sql, [kid]);
  return rows[0]?.validUntil ?? undefined;
}

/** Records that a key's overlap has ended. Returns its organization; undefined when there is nothing to record. */
export async function retireKey(
  tx: Tx,
  kid: string,
  at: Date,
): Promise<{ orgUuid: string; algorithm: string } | undefined> {
  const rows = await tx.query<{ orgUuid: string; algorithm: string }>(
    `update signing_keys set retired_at = $2
     where kid = $1 and not active and valid_until <= $2 and retired_at is null and org_uuid is not null
     returning org_uuid as "orgUuid", algorithm`,
    [kid, at],
  );
  return rows[0];
}
