import { boundedCount, totalOf } from "../../platform/db/counting.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** An API key as it is shown. */
export interface ApiKeyRow {
  key_id: string;
  name: string;
  prefix: string;
  last4: string;
  scopes: string[];
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

/** A SCIM token as it is shown. */
export interface ScimTokenRow {
  token_id: string;
  name: string;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

/** What a key is judged by. */
export interface KeyToJudge {
  org_uuid: string;
  hash: Buffer;
  scopes: string[];
  made_by: string;
  expires_at: Date;
  last_used_at: Date | null;
}

/** What a SCIM token is judged by. */
export interface TokenToJudge {
  org_uuid: string;
  org_name: string;
  hash: Buffer;
  expires_at: Date;
  last_used_at: Date | null;
}

/** An API key to store. */
export interface NewApiKey extends Omit<ApiKeyRow, "revoked_at" | "last_used_at"> {
  org_uuid: string;
  hash: Buffer;
  made_by: string;
  /** The key that makes it. */
  made_with: string | null;
}

/**
 * Lets one credential of an organization be made at a time, so that they can be counted; released with the transaction.
 */
export async function lockCredentials(tx: Tx, orgUuid: string): Promise<void> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
}

/** How many API keys of an organization are neither revoked nor over. */
export async function countLiveKeys(tx: Tx, orgUuid: string, at: Date): Promise<number> {
  const sql = "select count(*)::int as n from api_keys where org_uuid = $1 and revoked_at is null and expires_at > $2";
  return (await tx.query<{ n: number }>(sql, [orgUuid, at]))[0]?.n ?? 0;
}

/**
 * Stores an API key; false when its maker is no active member any more. The end of a membership waits for it, and then
 * ends it too.
 */
export async function insertApiKey(tx: Tx, key: NewApiKey): Promise<boolean> {
  const rows = await tx.query(
    `insert into api_keys (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, created_at, expires_at, made_with)
     select $1, m.org_uuid, $3, $4, $5, $6, $7, m.user_uuid, $9, $10, $11 from memberships m
     where m.org_uuid = $2 and m.user_uuid = $8 and m.status = 'active' for share of m returning key_id`,
    [
      key.key_id,
      key.org_uuid,
      key.name,
      key.hash,
      key.prefix,
      key.last4,
      key.scopes,
      key.made_by,
      key.created_at,
      key.expires_at,
      key.made_with,
    ],
  );
  return rows.length > 0;
}

/** API keys of an organization, newest first; those revoked before `since` are left out. */
export async function apiKeysOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  since: Date,
  limit: number,
  offset: number,
): Promise<{ rows: ApiKeyRow[] } & Total> {
  const where = "org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<ApiKeyRow>(
      "api-keys-list",
      `select key_id, name, prefix, last4, scopes, created_at, expires_at, revoked_at, last_used_at from api_keys where ${where} order by created_at desc, key_id limit $3 offset $4`,
      [orgUuid, since, limit, offset],
    ),
    database.prepared<{ counted: number }>("api-keys-count", boundedCount(`from api_keys where ${where}`), [
      orgUuid,
      since,
    ]),
  ]);
  return { rows, ...totalOf(counts) };
}

/** A live key that makes another one; it cannot be revoked until the transaction ends. */
export async function keepKey(
  tx: Tx,
  keyId: string,
  at: Date,
): Promise<{ made_by: string; expires_at: Date } | undefined> {
  const sql =
    "select made_by, expires_at from api_keys where key_id = $1 and revoked_at is null and expires_at > $2 for share";
  return (await tx.query<{ made_by: string; expires_at: Date }>(sql, [keyId, at]))[0];
}

/**
 * Ends the keys that a revoked key made, and those that they made; answers their ids. One generation after the other: a
 * key that was being made while its maker was revoked is seen by the statement after the one that waited for it.
 */
export async function revokeKeysMadeWith(tx: Tx, keyId: string, at: Date): Promise<string[]> {
  const all: string[] = [];
  const sql =
    "update api_keys set revoked_at = $2 where made_with = any($1::uuid[]) and revoked_at is null returning key_id";
  for (let generation = [keyId]; generation.length > 0; ) {
    generation = (await tx.query<{ key_id: string }>(sql, [generation, at])).map((row) => row.key_id);
    all.push(...generation);
  }
  return all;
}

/** Ends a key; false when there was no living one. */
export async function revokeApiKey(tx: Tx, orgUuid: string, keyId: string, at: Date): Promise<boolean> {
  await tx.judge();
  const rows = await tx.query(
    "update api_keys set revoked_at = $3 where org_uuid = $1 and key_id = $2 and revoked_at is null returning 1 as one",
    [orgUuid, keyId, at],
  );
  return rows.length > 0;
}

/** Ends every living key somebody made in an organization; answers their ids. */
export async function revokeKeysOf(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<string[]> {
  await tx.judge();
  const rows = await tx.query<{ key_id: string }>(
    "update api_keys set revoked_at = $3 where org_uuid = $1 and made_by = $2 and revoked_at is null returning key_id",
    [orgUuid, userUuid, at],
  );
  return rows.map((row) => row.key_id);
}

/** Ends every living key and token of an organization that ends. */
export async function revokeAllOf(tx: Tx, orgUuid: string, at: Date): Promise<void> {
  await tx.judge();
  await tx.query("update api_keys set revoked_at = $2 where org_uuid = $1 and revoked_at is null", [orgUuid, at]);
  await tx.query("update scim_tokens set revoked_at = $2 where org_uuid = $1 and revoked_at is null", [orgUuid, at]);
}

/** A key that has not been revoked. */
export async function livingApiKey(
  database: Pick<Database, "identifying">,
  keyId: string,
): Promise<KeyToJudge | undefined> {
  const sql =
    "select org_uuid, hash, scopes, made_by, expires_at, last_used_at from api_keys where key_id = $1 and revoked_at is null";
  return (await database.identifying<KeyToJudge>("api-key-use", sql, [keyId]))[0];
}

/** Which of these keys may be used: neither revoked nor expired, their makers active members. */
export async function usableKeys(
  database: Pick<Database, "watching">,
  keyIds: readonly string[],
  at: Date,
): Promise<ReadonlySet<string>> {
  const sql = `select k.key_id from api_keys k
    join memberships m on m.org_uuid = k.org_uuid and m.user_uuid = k.made_by and m.status = 'active'
    where k.key_id = any($1::uuid[]) and k.revoked_at is null and k.expires_at > $2`;
  const rows = await database.watching<{ key_id: string }>("api-keys-usable", sql, [keyIds, at]);
  return new Set(rows.map((row) => row.key_id));
}

/**
 * Rejects with `unauthorized` unless the key, and its maker's power, are as they were; locks both until the transaction
 * ends.
 */
export async function judgeApiKey(
  tx: Pick<Tx, "query">,
  params: [
    keyId: string,
    maker: string,
    orgUuid: string,
    version: number,
    platformAdmin: boolean,
    at: Date,
    alone: boolean,
  ],
): Promise<void> {
  await tx.query("select judge_api_key($1, $2, $3, $4, $5, $6, $7)", params);
}

/** Rejects with `unauthorized` unless the token still lives; locks it until the transaction ends. */
export async function judgeScimToken(
  tx: Pick<Tx, "query">,
  params: [tokenId: string, at: Date, alone: boolean],
): Promise<void> {
  await tx.query("select judge_scim_token($1, $2, $3)", params);
}

/**
 * A row that a transaction has locked is noted at a later use: whoever finds out who calls must not wait for what
 * callers do.
 */
const noteUse = (table: string, id: string): string =>
  `update ${table} set last_used_at = $2 where ${id} in (select ${id} from ${table} where ${id} = $1 for no key update skip locked) returning 1 as one`;

/** Notes that a key was used, at most once a minute. */
export async function noteKeyUse(
  database: Pick<Database, "identifying">,
  keyId: string,
  before: Date | null,
  at: Date,
): Promise<void> {
  if (!isDue(before, at)) return;
  await database.identifying("api-key-used", noteUse("api_keys", "key_id"), [keyId, at]);
}

/** Whether a use is to be noted a minute or more after the one before. */
function isDue(before: Date | null, at: Date): boolean {
  return before === null || at.getTime() - before.getTime() > 60_000;
}

/** Stores a SCIM token; false when the organization has `most` living ones. */
export async function insertScimToken(
  tx: Tx,
  token: Omit<ScimTokenRow, "revoked_at" | "last_used_at"> & { org_uuid: string; hash: Buffer },
  most: number,
): Promise<boolean> {
  await lockCredentials(tx, token.org_uuid);
  const [living] = await tx.query<{ count: number }>(
    "select count(*)::int as count from scim_tokens where org_uuid = $1 and revoked_at is null and expires_at > $2",
    [token.org_uuid, token.created_at],
  );
  if ((living?.count ?? 0) >= most) return false;
  await tx.query(
    "insert into scim_tokens (token_id, org_uuid, name, hash, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)",
    [token.token_id, token.org_uuid, token.name, token.hash, token.created_at, token.expires_at],
  );
  return true;
}

/** SCIM tokens of an organization, newest first; those revoked before `since` are left out. */
export async function scimTokensOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  since: Date,
  limit: number,
  offset: number,
): Promise<{ rows: ScimTokenRow[] } & Total> {
  const where = "org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<ScimTokenRow>(
      "scim-tokens-list",
      `select token_id, name, created_at, expires_at, revoked_at, last_used_at from scim_tokens where ${where} order by created_at desc, token_id limit $3 offset $4`,
      [orgUuid, since, limit, offset],
    ),
    database.prepared<{ counted: number }>("scim-tokens-count", boundedCount(`from scim_tokens where ${where}`), [
      orgUuid,
      since,
    ]),
  ]);
  return { rows, ...totalOf(counts) };
}

/** Ends a SCIM token; false when there was no living one. */
export async function revokeScimToken(tx: Tx, orgUuid: string, tokenId: string, at: Date): Promise<boolean> {
  await tx.judge();
  const rows = await tx.query(
    "update scim_tokens set revoked_at = $3 where org_uuid = $1 and token_id = $2 and revoked_at is null returning 1 as one",
    [orgUuid, tokenId, at],
  );
  return rows.length > 0;
}

/** A SCIM token that has not been revoked, of an organization that lives. */
export async function livingScimToken(
  database: Pick<Database, "identifying">,
  tokenId: string,
): Promise<TokenToJudge | undefined> {
  const sql = `select t.org_uuid, o.name as org_name, t.hash, t.expires_at, t.last_used_at from scim_tokens t join organizations o on o.uuid = t.org_uuid and o.deleted_at is null
     where t.token_id = $1 and t.revoked_at is null`;
  return (await database.identifying<TokenToJudge>("scim-token-use", sql, [tokenId]))[0];
}

/** Notes that a SCIM token was used, at most once a minute. */
export async function noteTokenUse(
  database: Pick<Database, "identifying">,
  tokenId: string,
  before: Date | null,
  at: Date,
): Promise<void> {
  if (!isDue(before, at)) return;
  await database.identifying("scim-token-used", noteUse("scim_tokens", "token_id"), [tokenId, at]);
}

/** Ends every living key somebody made, in whatever organization, also those that are being made as this runs. */
export async function revokeKeysMadeBy(
  tx: Tx,
  madeBy: string,
  at: Date,
): Promise<{ key_id: string; org_uuid: string }[]> {
  const sql =
    "update api_keys set revoked_at = $2 where made_by = $1 and revoked_at is null returning key_id, org_uuid";
  const all: { key_id: string; org_uuid: string }[] = [];
  for (;;) {
    const ended = await tx.query<{ key_id: string; org_uuid: string }>(sql, [madeBy, at]);
    if (ended.length === 0) return all;
    all.push(...ended);
  }
}

/** Ends every living SCIM token of an organization; returns their ids. */
export async function revokeScimTokensOf(tx: Tx, orgUuid: string, at: Date): Promise<string[]> {
  const sql = "update scim_tokens set revoked_at = $2 where org_uuid = $1 and revoked_at is null returning token_id";
  return (await tx.query<{ token_id: string }>(sql, [orgUuid, at])).map((row) => row.token_id);
}
