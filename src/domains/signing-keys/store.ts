import type { PublicJwk, KeyAlgorithm } from "../../platform/crypto/jwk.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

const KEY_COLUMNS = `kid, algorithm, private_key as "privateKey"`;

/** A key with its sealed private half. */
export interface ActiveKeyRow {
  kid: string;
  algorithm: KeyAlgorithm;
  privateKey: Buffer;
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
    `insert into signing_keys
       (kid, org_uuid, algorithm, public_jwk, public_pem, private_key, description, active, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, true, $8) on conflict do nothing returning kid`,
    [
      key.kid,
      key.orgUuid,
      key.algorithm,
      JSON.stringify(key.publicJwk),
      key.publicPem,
      key.privateKey,
      key.description,
      at,
    ],
  );
  return rows.length === 1;
}

/**
 * SQL condition of the keys that belong in the key set at `$2`: valid, or with an unexpired signature (decisions 6.2).
 */
export const isPublished = `(valid_until is null or valid_until > $2
  or exists (select 1 from signing_key_uses u where u.kid = signing_keys.kid and u.until > $2))`;

/**
 * The active key of an organization; notes that a token it signs is valid until `until`. One note covers tokens up to
 * `covered`, so that most signatures of a busy organization add none.
 */
export async function activeKeyUntil(
  tx: Tx,
  orgUuid: string,
  until: Date,
  covered: Date,
): Promise<ActiveKeyRow | undefined> {
  const rows = await tx.query<ActiveKeyRow>(
    `with active as (select ${KEY_COLUMNS} from signing_keys where org_uuid = $1 and active),
     noted as (
       insert into signing_key_uses (kid, until) select kid, $3 from active
         where not exists (select 1 from signing_key_uses u where u.kid = active.kid and u.until >= $2))
     select * from active`,
    [orgUuid, until, covered],
  );
  return rows[0];
}

/** Removes notes of signatures that have expired, at most `limit`; returns how many. */
export async function deleteUses(tx: Tx, before: Date, limit: number): Promise<number> {
  const sql = `delete from signing_key_uses where ctid = any (array(
    select ctid from signing_key_uses where until < $1 limit $2 for update skip locked)) returning 1`;
  return (await tx.query(sql, [before, limit])).length;
}

/**
 * Deletes keys whose overlap ended before a time, at most `limit`; returns how many. A key stays while something it
 * signed is valid, and while it signs the head of its organization's audit log (decisions 5.3).
 */
export async function deleteRetiredKeys(
  database: Pick<Database, "prepared">,
  before: Date,
  limit: number,
): Promise<number> {
  const sql = `delete from signing_keys where kid = any (array(
      select kid from signing_keys k where retired_at < $1
        and not exists (select 1 from signing_key_uses u where u.kid = k.kid)
        and not exists (select 1 from audit_heads h where h.org_key = k.org_uuid and h.kid = k.kid)
      limit $2 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("signing-keys-tidy", sql, [before, limit])).length;
}

/** The active key of an organization (null: of the instance). */
export async function activeKey(tx: Tx, orgUuid: string | null): Promise<ActiveKeyRow | undefined> {
  const owner = orgUuid === null ? "org_uuid is null" : "org_uuid = $1";
  const rows = await tx.query<ActiveKeyRow>(
    `select ${KEY_COLUMNS} from signing_keys where ${owner} and active`,
    orgUuid === null ? [] : [orgUuid],
  );
  return rows[0];
}

/** The active keys of organizations. */
export function activeKeys(tx: Tx, orgUuids: readonly string[]): Promise<(ActiveKeyRow & { orgUuid: string })[]> {
  return tx.query(
    `select org_uuid as "orgUuid", ${KEY_COLUMNS} from signing_keys where org_uuid = any ($1) and active`,
    [orgUuids],
  );
}

/** The public half of a key of this organization (null: of the instance), whether or not it is still valid. */
export async function publicKeyOf(
  database: Pick<Database, "identifying">,
  orgUuid: string | null,
  kid: string,
): Promise<{ algorithm: KeyAlgorithm; publicPem: string } | undefined> {
  const sql = `select algorithm, public_pem as "publicPem" from signing_keys
    where kid = $2 and org_uuid is not distinct from $1::uuid`;
  return (
    await database.identifying<{ algorithm: KeyAlgorithm; publicPem: string }>("signing-keys-public", sql, [
      orgUuid,
      kid,
    ])
  )[0];
}

/** Public keys of the key set, newest first. */
export async function publishedKeys(
  database: Pick<Database, "prepared">,
  orgUuid: string | null,
  at: Date,
): Promise<PublicJwk[]> {
  const sql = `select public_jwk as "publicJwk" from signing_keys
    where org_uuid is not distinct from $1::uuid and ${isPublished} order by created_at desc, kid`;
  const rows = await database.prepared<{ publicJwk: PublicJwk }>("signing-keys-published", sql, [orgUuid, at]);
  return rows.map((row) => row.publicJwk);
}
