import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { lockCredentials } from "./store.ts";

/** A SCIM token without its secret. */
export interface ScimTokenRow {
  tokenId: string;
  name: string;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

/** A SCIM token to store. */
export interface NewScimToken extends Omit<ScimTokenRow, "revokedAt" | "lastUsedAt"> {
  orgUuid: string;
  hash: Buffer;
}

const columns = `token_id as "tokenId", name, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** Stores a SCIM token; false when the organization has `most` live ones. */
export async function insertScimToken(tx: Tx, token: NewScimToken, most: number): Promise<boolean> {
  await lockCredentials(tx, token.orgUuid);
  const [live] = await tx.query<{ count: number }>(
    "select count(*)::int as count from scim_tokens where org_uuid = $1 and revoked_at is null and expires_at > $2",
    [token.orgUuid, token.createdAt],
  );
  if ((live?.count ?? 0) >= most) return false;
  await tx.query(
    `insert into scim_tokens (token_id, org_uuid, name, hash, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [token.tokenId, token.orgUuid, token.name, token.hash, token.createdAt, token.expiresAt],
  );
  return true;
}

/** SCIM tokens of an organization, newest first, without those revoked before `since`. */
export function scimTokensOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  since: Date,
  page: Page,
): Promise<Listed<ScimTokenRow>> {
  const from = "from scim_tokens where org_uuid = $1 and (revoked_at is null or revoked_at > $2)";
  const sort = { created_at: createdAt(), name: byText("name") };
  const id = { sql: "token_id", type: "uuid" } as const;
  const list = { name: "scim-tokens", columns, from, params: [orgUuid, since], id, q: ["name"], sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/** Revokes a SCIM token; false when there was no live one. */
export async function revokeScimToken(tx: Tx, orgUuid: string, tokenId: string, at: Date): Promise<boolean> {
  await tx.reauthorize();
  const rows = await tx.query(
    `update scim_tokens set revoked_at = $3 where org_uuid = $1 and token_id = $2 and revoked_at is null
     returning 1 as one`,
    [orgUuid, tokenId, at],
  );
  return rows.length > 0;
}

/** Revokes every live SCIM token of an organization; returns their ids. */
export async function revokeScimTokensOf(tx: Tx, orgUuid: string, at: Date): Promise<string[]> {
  const sql = `update scim_tokens set revoked_at = $2 where org_uuid = $1 and revoked_at is null
    returning token_id as "tokenId"`;
  return (await tx.query<{ tokenId: string }>(sql, [orgUuid, at])).map((row) => row.tokenId);
}

/**
 * Checks that a token is still valid, and locks it until the transaction ends; in shared mode always, as no request of
 * SCIM ends a token. A directory sends many requests with one token, and those that do not change a membership take
 * this lock last.
 * @throws {unauthorized} otherwise
 */
export async function reauthorizeScimToken(tx: Pick<Tx, "query">, tokenId: string, at: Date): Promise<void> {
  await tx.query("select judge_scim_token($1, $2, false)", [tokenId, at]);
}
