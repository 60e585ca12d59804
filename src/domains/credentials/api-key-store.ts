import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { ApiKeyRow as LiveApiKey } from "../liveness/index.ts";
import { lockCredentials } from "./store.ts";

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

/** Who makes a key: a person, or a service identity. */
export type Maker = { person: string } | { identity: string };

/** An API key to store. */
export interface NewApiKey extends Omit<ApiKeyRow, "revokedAt" | "lastUsedAt"> {
  orgUuid: string;
  hash: Buffer;
  madeBy: Maker;
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
 * Stores an API key; false when its creator is no longer an active member or a living identity. The end of that
 * membership or identity waits for this transaction and then revokes the key.
 */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<boolean> {
  const [maker, makers, id] =
    "person" in key.madeBy
      ? ([
          "m.user_uuid, null",
          "memberships m where m.user_uuid = $8 and m.status = 'active'",
          key.madeBy.person,
        ] as const)
      : ([
          "null, m.identity_id",
          "service_identities m where m.identity_id = $8 and m.deleted_at is null",
          key.madeBy.identity,
        ] as const);
  const rows = await tx.query(
    `insert into api_keys (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, made_by_identity, created_at,
       expires_at, made_with)
     select $1, m.org_uuid, $3, $4, $5, $6, $7, ${maker}, $9, $10, $11 from ${makers} and m.org_uuid = $2
     for share of m returning key_id`,
    [
      key.keyId,
      key.orgUuid,
      key.name,
      key.hash,
      key.prefix,
      key.last4,
      key.scopes,
      id,
      key.createdAt,
      key.expiresAt,
      key.madeWith,
    ],
  );
  return rows.length > 0;
}

/** API keys of an organization, newest first, without those revoked before `since`. */
export function apiKeysOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  since: Date,
  page: Page,
): Promise<Listed<ApiKeyRow>> {
  const from = "from api_keys where org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const sort = { created_at: createdAt(), name: byText("name") };
  const id = { sql: "key_id", type: "uuid" } as const;
  const list = { name: "api-keys", columns, from, params: [orgUuid, since], id, q: ["name"], sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/**
 * A live key with which another key is created; it cannot be revoked until the transaction ends. Reauthorizes the
 * caller, whose key it is, first: the membership must be locked before the key, as by every write that ends both.
 */
export async function keepKey(
  tx: Tx,
  keyId: string,
  at: Date,
): Promise<{ madeBy: Maker; expiresAt: Date } | undefined> {
  await tx.reauthorize();
  const sql = `select made_by as person, made_by_identity as identity, expires_at as "expiresAt" from api_keys
    where key_id = $1 and revoked_at is null and expires_at > $2 for share`;
  const [row] = await tx.query<{ person: string | null; identity: string; expiresAt: Date }>(sql, [keyId, at]);
  if (row === undefined) return undefined;
  const { person, identity, expiresAt } = row;
  return { madeBy: person === null ? { identity } : { person }, expiresAt };
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
  await lockCredentials(tx, orgUuid);
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

/** Revokes every live key that a service identity made; returns their ids. */
export async function revokeKeysOfIdentity(tx: Tx, identityId: string, at: Date): Promise<string[]> {
  await tx.reauthorize();
  const rows = await tx.query<{ keyId: string }>(
    `update api_keys set revoked_at = $2 where made_by_identity = $1 and revoked_at is null
     returning key_id as "keyId"`,
    [identityId, at],
  );
  return rows.map((row) => row.keyId);
}

/** Revokes every live key that the service identities of an organization made; returns their ids. */
export async function revokeKeysOfIdentities(tx: Tx, orgUuid: string, at: Date): Promise<string[]> {
  const rows = await tx.query<{ keyId: string }>(
    `update api_keys set revoked_at = $2 where org_uuid = $1 and made_by_identity is not null and revoked_at is null
     returning key_id as "keyId"`,
    [orgUuid, at],
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
  keyId: string,
  { made_by, made_by_identity, org_uuid, maker_version, is_platform_admin }: LiveApiKey,
  at: Date,
  alone: boolean,
): Promise<void> {
  if (made_by === null)
    await tx.query("select judge_identity_key($1, $2, $3, $4, $5)", [
      keyId,
      made_by_identity,
      maker_version,
      at,
      alone,
    ]);
  else
    await tx.query("select judge_api_key($1, $2, $3, $4, $5, $6, $7)", [
      keyId,
      made_by,
      org_uuid,
      maker_version,
      is_platform_admin,
      at,
      alone,
    ]);
}
