import { published } from "./store.ts";
import type { KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** A signing key as it is shown. */
export interface KeyRow {
  kid: string;
  algorithm: KeyAlgorithm;
  description: string;
  public_pem: string;
  active: boolean;
  valid_until: Date | null;
  created_at: Date;
}

const shown = "kid, algorithm, description, public_pem, active, valid_until, created_at";
const living = "(valid_until is null or valid_until > $2)";

/** Holds up every other change to an organization's keys until the transaction ends. */
export async function lockKeys(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from organizations where uuid = $1 for update", [orgUuid]);
}

/** Keys of the key set, newest first. */
export function shownKeys(database: Pick<Database, "prepared">, orgUuid: string, at: Date): Promise<KeyRow[]> {
  const sql = `select ${shown} from signing_keys where org_uuid = $1 and ${published} order by created_at desc, kid`;
  return database.prepared<KeyRow>("keys_shown", sql, [orgUuid, at]);
}

/** A key of the key set; undefined where the organization has no such key. */
export async function shownKeyIn(tx: Tx, orgUuid: string, at: Date, kid: string): Promise<KeyRow | undefined> {
  const sql = `select ${shown} from signing_keys where org_uuid = $1 and ${published} and kid = $3`;
  return (await tx.query<KeyRow>(sql, [orgUuid, at, kid]))[0];
}

/** Keys that are valid now, newest first. */
export function livingKeysIn(tx: Tx, orgUuid: string, at: Date): Promise<KeyRow[]> {
  return tx.query<KeyRow>(
    `select ${shown} from signing_keys where org_uuid = $1 and ${living} order by created_at desc, kid`,
    [orgUuid, at],
  );
}

/** Whether a rotation is under way: a key it replaced is still valid. */
export async function isRotating(tx: Tx, orgUuid: string, at: Date): Promise<boolean> {
  const rows = await tx.query("select 1 from signing_keys where org_uuid = $1 and rotation and valid_until > $2", [
    orgUuid,
    at,
  ]);
  return rows.length > 0;
}

/** Ends a key's time as the active one; it goes on verifying until `validUntil`. */
export async function replaceKey(tx: Tx, kid: string, validUntil: Date, rotation: boolean): Promise<void> {
  await tx.query("update signing_keys set active = false, valid_until = $2, rotation = $3 where kid = $1", [
    kid,
    validUntil,
    rotation,
  ]);
}

/** Removes a key: nothing it signed is accepted any more. */
export async function deleteKey(tx: Tx, kid: string): Promise<void> {
  await tx.judge();
  await tx.query("delete from signing_keys where kid = $1", [kid]);
}

/** Replaced keys whose overlap was not noted as over, by id, after one of them. */
export async function overlappingKeys(
  database: Pick<Database, "prepared">,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const sql =
    "select kid from signing_keys where not active and retired_at is null and kid > coalesce($1, '') order by kid limit $2";
  return (await database.prepared<{ kid: string }>("keys_overlapping", sql, [after, limit])).map((row) => row.kid);
}

/** Until when a replaced key is valid; undefined when it is gone, active or retired. */
export async function overlapEnd(database: Pick<Database, "prepared">, kid: string): Promise<Date | undefined> {
  const rows = await database.prepared<{ valid_until: Date | null }>(
    "keys_overlap",
    "select valid_until from signing_keys where kid = $1 and not active and retired_at is null",
    [kid],
  );
  return rows[0]?.valid_until ?? undefined;
}

/** Notes that a key's overlap is over; answers whose it was, or undefined when that was noted before. */
export async function retireKey(
  tx: Tx,
  kid: string,
  at: Date,
): Promise<{ org_uuid: string; algorithm: string } | undefined> {
  const rows = await tx.query<{ org_uuid: string; algorithm: string }>(
    "update signing_keys set retired_at = $2 where kid = $1 and not active and valid_until <= $2 and retired_at is null and org_uuid is not null returning org_uuid, algorithm",
    [kid, at],
  );
  return rows[0];
}
