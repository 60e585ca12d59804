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

/** Stores an API key; false when its maker is no active member any more. The end of a membership waits for it, and then ends it too. */
export async function insertApiKey(tx: Tx, key: Omit<ApiKeyRow, "revoked_at" | "last_used_at"> & { org_uuid: string; hash: Buffer; made_by: string }): Promise<boolean> {
  const rows = await tx.query(
    `insert into api_keys (key_id, org_uuid, name, hash, prefix, last4, scopes, made_by, created_at, expires_at)
     select $1, m.org_uuid, $3, $4, $5, $6, $7, m.user_uuid, $9, $10 from memberships m
     where m.org_uuid = $2 and m.user_uuid = $8 and m.status = 'active' for share of m returning key_id`,
    [key.key_id, key.org_uuid, key.name, key.hash, key.prefix, key.last4, key.scopes, key.made_by, key.created_at, key.expires_at],
  );
  return rows.length > 0;
}

/** Who made the first key of a line of keys. */
export async function makerOf(tx: Tx, keyId: string): Promise<string | undefined> {
  return (await tx.query<{ made_by: string }>("select made_by from api_keys where key_id = $1", [keyId]))[0]?.made_by;
}

/** API keys of an organization, newest first; those revoked before `since` are left out. */
export async function apiKeysOf(database: Pick<Database, "prepared">, orgUuid: string, since: Date, limit: number, offset: number): Promise<{ rows: ApiKeyRow[]; total: number }> {
  const where = "org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<ApiKeyRow>("api-keys-list", `select key_id, name, prefix, last4, scopes, created_at, expires_at, revoked_at, last_used_at from api_keys where ${where} order by created_at desc, key_id limit $3 offset $4`, [orgUuid, since, limit, offset]),
    database.prepared<{ total: number }>("api-keys-count", `select count(*)::int as total from api_keys where ${where}`, [orgUuid, since]),
  ]);
  return { rows, total: counts[0]?.total ?? 0 };
}

/** Ends a key; false when there was no living one. */
export async function revokeApiKey(tx: Tx, orgUuid: string, keyId: string, at: Date): Promise<boolean> {
  const rows = await tx.query("update api_keys set revoked_at = $3 where org_uuid = $1 and key_id = $2 and revoked_at is null returning 1 as one", [orgUuid, keyId, at]);
  return rows.length > 0;
}

/** Ends every living key somebody made in an organization; answers their ids. */
export async function revokeKeysOf(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<string[]> {
  const rows = await tx.query<{ key_id: string }>("update api_keys set revoked_at = $3 where org_uuid = $1 and made_by = $2 and revoked_at is null returning key_id", [orgUuid, userUuid, at]);
  return rows.map((row) => row.key_id);
}

/** A key that has not been revoked. */
export async function livingApiKey(database: Pick<Database, "prepared">, keyId: string): Promise<KeyToJudge | undefined> {
  const sql = "select org_uuid, hash, scopes, made_by, expires_at, last_used_at from api_keys where key_id = $1 and revoked_at is null";
  return (await database.prepared<KeyToJudge>("api-key-use", sql, [keyId]))[0];
}

/** Notes that a key was used, at most once a minute. */
export async function noteKeyUse(database: Pick<Database, "prepared">, keyId: string, before: Date | null, at: Date): Promise<void> {
  if (!isDue(before, at)) return;
  await database.prepared("api-key-used", "update api_keys set last_used_at = $2 where key_id = $1 returning 1 as one", [keyId, at]);
}

/** Whether a use is to be noted a minute or more after the one before. */
function isDue(before: Date | null, at: Date): boolean {
  return before === null || at.getTime() - before.getTime() > 60_000;
}

/** Stores a SCIM token; false when the organization has `most` living ones. */
export async function insertScimToken(tx: Tx, token: Omit<ScimTokenRow, "revoked_at" | "last_used_at"> & { org_uuid: string; hash: Buffer }, most: number): Promise<boolean> {
  await tx.query("select 1 from organizations where uuid = $1 for update", [token.org_uuid]);
  const [living] = await tx.query<{ count: number }>("select count(*)::int as count from scim_tokens where org_uuid = $1 and revoked_at is null and expires_at > $2", [token.org_uuid, token.created_at]);
  if ((living?.count ?? 0) >= most) return false;
  await tx.query("insert into scim_tokens (token_id, org_uuid, name, hash, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)", [token.token_id, token.org_uuid, token.name, token.hash, token.created_at, token.expires_at]);
  return true;
}

/** SCIM tokens of an organization, newest first; those revoked before `since` are left out. */
export async function scimTokensOf(database: Pick<Database, "prepared">, orgUuid: string, since: Date, limit: number, offset: number): Promise<{ rows: ScimTokenRow[]; total: number }> {
  const where = "org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const [rows, counts] = await Promise.all([
    database.prepared<ScimTokenRow>("scim-tokens-list", `select token_id, name, created_at, expires_at, revoked_at, last_used_at from scim_tokens where ${where} order by created_at desc, token_id limit $3 offset $4`, [orgUuid, since, limit, offset]),
    database.prepared<{ total: number }>("scim-tokens-count", `select count(*)::int as total from scim_tokens where ${where}`, [orgUuid, since]),
  ]);
  return { rows, total: counts[0]?.total ?? 0 };
}

/** Ends a SCIM token; false when there was no living one. */
export async function revokeScimToken(tx: Tx, orgUuid: string, tokenId: string, at: Date): Promise<boolean> {
  const rows = await tx.query("update scim_tokens set revoked_at = $3 where org_uuid = $1 and token_id = $2 and revoked_at is null returning 1 as one", [orgUuid, tokenId, at]);
  return rows.length > 0;
}

/** A SCIM token that has not been revoked, of an organization that lives. */
export async function livingScimToken(database: Pick<Database, "prepared">, tokenId: string): Promise<TokenToJudge | undefined> {
  const sql = `select t.org_uuid, o.name as org_name, t.hash, t.expires_at, t.last_used_at from scim_tokens t join organizations o on o.uuid = t.org_uuid and o.deleted_at is null
     where t.token_id = $1 and t.revoked_at is null`;
  return (await database.prepared<TokenToJudge>("scim-token-use", sql, [tokenId]))[0];
}

/** Notes that a SCIM token was used, at most once a minute. */
export async function noteTokenUse(database: Pick<Database, "prepared">, tokenId: string, before: Date | null, at: Date): Promise<void> {
  if (!isDue(before, at)) return;
  await database.prepared("scim-token-used", "update scim_tokens set last_used_at = $2 where token_id = $1 returning 1 as one", [tokenId, at]);
}

/** Forgets some of the keys and tokens that were revoked before a time; answers how many. */
export async function forgetRevoked(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const [keys, tokens] = await Promise.all([
    database.prepared("api-keys-forget", "delete from api_keys where key_id in (select key_id from api_keys where revoked_at < $1 limit 1000) returning 1 as one", [before]),
    database.prepared("scim-tokens-forget", "delete from scim_tokens where token_id in (select token_id from scim_tokens where revoked_at < $1 limit 1000) returning 1 as one", [before]),
  ]);
  return keys.length + tokens.length;
}
