import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** An API key without its secret. */
export interface ApiKeyRow {
  keyId: string;
  name: string;
  prefix: string;
  last4: string;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

/** An API key to store. */
export interface NewApiKey extends Omit<ApiKeyRow, "revokedAt" | "lastUsedAt"> {
  orgUuid: string;
  hash: Buffer;
  madeBy: string;
  /** The key with which it is created; null when a person creates it. */
  madeWith: string | null;
}

const columns = `key_id as "keyId", name, prefix, last4, scopes, created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** Counts an organization's API keys that are neither revoked nor expired. */
export async function countLiveKeys(tx: Tx, orgUuid: string, at: Date): Promise<number> {
  const sql = "select count(*)::int as n from api_keys where org_uuid = $1 and revoked_at is null and expires_at > $2";
  return (await tx.query<{ n: number }>(sql, [orgUuid, at]))[0]?.n ?? 0;
}

/**
 * Stores an API key; false when its creator is no longer an active member. The end of that membership waits for this
 * transaction and then revokes the key.
 */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<boolean> {
  const rows = await tx.query(
    `insert into api_keys
       (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, created_at, expires_at, made_with)
     select $1, m.org_uuid, $3, $4, $5, $6, $7, m.user_uuid, $9, $10, $11 from memberships m
     where m.org_uuid = $2 and m.user_uuid = $8 and m.status = 'active' for share of m returning key_id`,
    [
      key.keyId,
      key.orgUuid,
      key.name,
      key.hash,
      key.prefix,
      key.last4,
      key.scopes,
      key.madeBy,
      key.createdAt,
      key.expiresAt,
      key.madeWith,
    ],
  );
  return rows.length > 0;
}

/** API keys of an organization, newest first, without those revoked before `since`. */
export async function apiKeysOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  since: Date,
  limit: number,
  offset: number,
): Promise<{ rows: ApiKeyRow[] } & Total> {
  const from = "from api_keys where org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<ApiKeyRow>(
      "api-keys-list",
      `select ${columns} ${from} order by created_at desc, key_id limit $3 offset $4`,
      [orgUuid, since, limit, offset],
    ),
    database.prepared<{ counted: number }>("api-keys-count", boundedCount(from), [orgUuid, since]),
  ]);
  return { rows, ...totalOf(counts) };
}

/** A live key with which another key is created; it cannot be revoked until the transaction ends. */
export async function keepKey(
  tx: Tx,
  keyId: string,
  at: Date,
): Promise<{ madeBy: string; expiresAt: Date } | undefined> {
  const sql = `select made_by as "madeBy", expires_at as "expiresAt" from api_keys
    where key_id = $1 and revoked_at is null and expires_at > $2 for share`;
  return (await tx.query<{ madeBy: string; expiresAt: Date }>(sql, [keyId, at]))[0];
}

/**
 * Revokes the keys created with a revoked key, and those created with them; returns their ids. Generation by
 * generation: a statement sees the keys of transactions that the one before it has waited for.
 */
export async function revokeKeysMadeWith(tx: Tx, keyId: string, at: Date): Promise<string[]> {
  const all: string[] = [];
  const sql = `update api_keys set revoked_at = $2 where made_with = any($1::uuid[]) and revoked_at is null
    returning key_id as "keyId"`;
  for (let generation = [keyId]; generation.length > 0; ) {
    generation = (await tx.query<{ keyId: string }>(sql, [generation, at])).map((row) => row.keyId);
    all.push(...generation);
  }
  return all;
}

/** Revokes a key; false when there was no live one. */
export async function revokeApiKey(tx: Tx, orgUuid: string, keyId: string, at: Date): Promise<boolean> {
  await tx.reauthorize();
  const rows = await tx.query(
    "update api_keys set revoked_at = $3 where org_uuid = $1 and key_id = $2 and revoked_at is null returning 1 as one",
    [orgUuid, keyId, at],
  );
  return rows.length > 0;
}

/** Revokes every live key of a person in an organization; returns their ids. */
export async function revokeKeysOf(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<string[]> {
  await tx.reauthorize();
  const rows = await tx.query<{ keyId: string }>(
    `update api_keys set revoked_at = $3 where org_uuid = $1 and made_by = $2 and revoked_at is null
     returning key_id as "keyId"`,
    [orgUuid, userUuid, at],
  );
  return rows.map((row) => row.keyId);
}

/** Revokes every live key of a person in any organization, also those that are being created meanwhile. */
export async function revokeKeysMadeBy(
  tx: Tx,
  madeBy: string,
  at: Date,
): Promise<{ keyId: string; orgUuid: string }[]> {
  const sql = `update api_keys set revoked_at = $2 where made_by = $1 and revoked_at is null
    returning key_id as "keyId", org_uuid as "orgUuid"`;
  const all: { keyId: string; orgUuid: string }[] = [];
  for (;;) {
    const revoked = await tx.query<{ keyId: string; orgUuid: string }>(sql, [madeBy, at]);
    if (revoked.length === 0) return all;
    all.push(...revoked);
  }
}

/**
 * Checks that a key and its creator's power have not changed, and locks both until the transaction ends.
 * @throws {unauthorized} otherwise
 */
export async function reauthorizeApiKey(
  tx: Pick<Tx, "query">,
  params: [
    keyId: string,
    creator: string,
    orgUuid: string,
    version: number,
    platformAdmin: boolean,
    at: Date,
    alone: boolean,
  ],
): Promise<void> {
  await tx.query("select judge_api_key($1, $2, $3, $4, $5, $6, $7)", params);
}
