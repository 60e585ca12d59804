import type { Database, Tx } from "../../platform/db/types.ts";

/** A member of the public key set: an ES256 key (RFC 7518 §6.2). */
export interface JwtJwk {
  kty: "EC";
  crv: "P-256";
  x: string;
  y: string;
}

/** Public part of a root. */
export interface PublicRoot {
  /** DER. */
  certificate: Buffer;
  jwtKeyId: string;
  jwtPublicJwk: JwtJwk;
  sequence: number;
}

/** A root with its sealed keys. */
export interface SealedRoot {
  certificate: Buffer;
  privateKey: Buffer;
  jwtKeyId: string;
  jwtPrivateKey: Buffer;
}

/** A root to store; private keys are sealed. */
export interface RootToStore extends Omit<PublicRoot, "sequence">, SealedRoot {
  keyId: Buffer;
  expiresAt: Date;
}

/** Stores the root of an organization that lives and has none; false otherwise. */
export async function insertRoot(tx: Tx, orgUuid: string, root: RootToStore, at: Date): Promise<boolean> {
  const sql = `insert into spiffe_roots (org_uuid, certificate, key_id, private_key, jwt_key_id, jwt_public_jwk,
      jwt_private_key, created_at, expires_at)
    select uuid, $2, $3, $4, $5, $6, $7, $8, $9 from organizations where uuid = $1 and deleted_at is null
    on conflict do nothing returning 1 as one`;
  const rows = await tx.query(sql, [
    orgUuid,
    root.certificate,
    root.keyId,
    root.privateKey,
    root.jwtKeyId,
    JSON.stringify(root.jwtPublicJwk),
    root.jwtPrivateKey,
    at,
    root.expiresAt,
  ]);
  return rows.length > 0;
}

/**
 * The public root of an organization that lives: `root` is null where it has none yet. Undefined when there is no such
 * organization.
 */
export async function publicRoot(
  database: Pick<Database, "prepared">,
  orgUuid: string,
): Promise<{ root: PublicRoot | null } | undefined> {
  const sql = `select r.certificate, r.jwt_key_id as "jwtKeyId", r.jwt_public_jwk as "jwtPublicJwk", r.sequence
    from organizations o left join spiffe_roots r on r.org_uuid = o.uuid where o.uuid = $1 and o.deleted_at is null`;
  const [row] = await database.prepared<PublicRoot | Record<keyof PublicRoot, null>>("spiffe-root", sql, [orgUuid]);
  if (row === undefined) return undefined;
  return { root: row.certificate === null ? null : row };
}

/** The root of an organization with its sealed keys. */
export async function sealedRoot(
  database: Pick<Database, "prepared">,
  orgUuid: string,
): Promise<SealedRoot | undefined> {
  const sql = `select certificate, private_key as "privateKey", jwt_key_id as "jwtKeyId",
      jwt_private_key as "jwtPrivateKey"
    from spiffe_roots where org_uuid = $1`;
  return (await database.prepared<SealedRoot>("spiffe-root-keys", sql, [orgUuid]))[0];
}

const ROOT_BY_KEY_ID = `
  select r.org_uuid as "orgUuid", r.certificate from spiffe_roots r
  where r.key_id = $1 and exists (select 1 from organizations o where o.uuid = r.org_uuid and o.deleted_at is null)`;

/** The root with this key identifier, of an organization that lives. */
export async function rootByKeyId(
  database: Pick<Database, "identifying">,
  keyId: Buffer,
): Promise<{ orgUuid: string; certificate: Buffer } | undefined> {
  return (
    await database.identifying<{ orgUuid: string; certificate: Buffer }>("spiffe-root-by-key", ROOT_BY_KEY_ID, [keyId])
  )[0];
}

/** Living organizations without a root, in order. */
export async function organizationsWithoutRoot(database: Pick<Database, "prepared">, limit: number): Promise<string[]> {
  const sql = `select o.uuid from organizations o
    where o.deleted_at is null and not exists (select 1 from spiffe_roots r where r.org_uuid = o.uuid)
    order by o.uuid limit $1`;
  const rows = await database.prepared<{ uuid: string }>("spiffe-roots-missing", sql, [limit]);
  return rows.map(({ uuid }) => uuid);
}
