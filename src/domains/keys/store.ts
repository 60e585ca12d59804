import type { PublicJwk, KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** The stored form of a private key, with what signing needs besides. */
export interface ActiveKeyRow {
  kid: string;
  algorithm: KeyAlgorithm;
  private_key: Buffer;
}

/** A key to store; `privateKey` is sealed. */
export interface KeyToStore {
  kid: string;
  orgUuid: string | null;
  algorithm: KeyAlgorithm;
  publicJwk: PublicJwk;
  publicPem: string;
  privateKey: Buffer;
  description: string;
}

/** Stores an active key; false when the organization (or the instance) has one already. */
export async function insertActiveKey(tx: Tx, key: KeyToStore, at: Date): Promise<boolean> {
  const rows = await tx.query(
    `insert into signing_keys (kid, org_uuid, algorithm, public_jwk, public_pem, private_key, description, active, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, true, $8) on conflict do nothing returning kid`,
    [key.kid, key.orgUuid, key.algorithm, JSON.stringify(key.publicJwk), key.publicPem, key.privateKey, key.description, at],
  );
  return rows.length === 1;
}

/** The id of the key that signs now. */
export async function activeKid(tx: Tx, orgUuid: string | null): Promise<string | undefined> {
  const owner = orgUuid === null ? "org_uuid is null" : "org_uuid = $1";
  const rows = await tx.query<{ kid: string }>(`select kid from signing_keys where ${owner} and active`, orgUuid === null ? [] : [orgUuid]);
  return rows[0]?.kid;
}

/** The private half of a key. */
export async function privateKeyOf(tx: Tx, kid: string): Promise<ActiveKeyRow | undefined> {
  return (await tx.query<ActiveKeyRow>("select kid, algorithm, private_key from signing_keys where kid = $1", [kid]))[0];
}

/** The public half of a key of this organization (null: of the instance), whether or not it is still valid. */
export async function publicKeyOf(
  database: Database,
  orgUuid: string | null,
  kid: string,
): Promise<{ algorithm: KeyAlgorithm; public_pem: string } | undefined> {
  const sql = "select algorithm, public_pem from signing_keys where kid = $2 and org_uuid is not distinct from $1::uuid";
  return (await database.prepared<{ algorithm: KeyAlgorithm; public_pem: string }>("keys_public", sql, [orgUuid, kid]))[0];
}

/** Public keys that are valid now, newest first. */
export async function validKeys(database: Database, orgUuid: string | null, at: Date): Promise<PublicJwk[]> {
  const sql = `select public_jwk from signing_keys
    where org_uuid is not distinct from $1::uuid and (valid_until is null or valid_until > $2) order by created_at desc, kid`;
  const rows = await database.prepared<{ public_jwk: PublicJwk }>("keys_valid", sql, [orgUuid, at]);
  return rows.map((row) => row.public_jwk);
}
