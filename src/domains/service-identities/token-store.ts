import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { updateInBatches } from "../../platform/db/batched-updates.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { lockCredentials } from "../credentials/index.ts";

/** An automation token without its secret. */
export interface TokenRow {
  tokenId: string;
  identityId: string;
  name: string;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

/** A token to store. */
export interface NewToken extends Omit<TokenRow, "revokedAt" | "lastUsedAt"> {
  orgUuid: string;
  hash: Buffer;
}

const columns = `token_id as "tokenId", identity_id as "identityId", name, created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** Stores a token of an identity that the transaction keeps. */
export async function insertToken(tx: Tx, token: NewToken): Promise<void> {
  await tx.query(
    `insert into automation_tokens (token_id, identity_id, org_uuid, name, hash, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [token.tokenId, token.identityId, token.orgUuid, token.name, token.hash, token.createdAt, token.expiresAt],
  );
}

/** Tokens of an organization, or of one identity, newest first, without those revoked before `since`. */
export function tokensOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  identityId: string | undefined,
  since: Date,
  page: Page,
): Promise<Listed<TokenRow>> {
  const from = `from automation_tokens where org_uuid = $1 and (revoked_at is null or revoked_at > $2)
    ${identityId === undefined ? "" : "and identity_id = $3"}`;
  const params = identityId === undefined ? [orgUuid, since] : [orgUuid, since, identityId];
  const sort = { created_at: createdAt(), name: byText("name") };
  const id = { sql: "token_id", type: "uuid" } as const;
  const list = { name: "automation-tokens", columns, from, params, id, q: ["name"], sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/** A token that was revoked. */
export interface RevokedToken {
  tokenId: string;
  identityId: string;
  name: string;
}

/** Revokes a token; undefined when there was no live one. */
export async function revokeToken(
  tx: Tx,
  orgUuid: string,
  tokenId: string,
  at: Date,
): Promise<RevokedToken | undefined> {
  await lockCredentials(tx, orgUuid);
  await tx.reauthorize();
  const sql = `update automation_tokens set revoked_at = $3
    where org_uuid = $1 and token_id = $2 and revoked_at is null
    returning token_id as "tokenId", identity_id as "identityId", name`;
  return (await tx.query<RevokedToken>(sql, [orgUuid, tokenId, at]))[0];
}

/** Revokes the tokens of an identity; returns how many. */
export function revokeTokensOf(tx: Tx, identityId: string, at: Date): Promise<number> {
  const where = "identity_id = $1 and revoked_at is null";
  return updateInBatches(tx, { table: "automation_tokens", id: "token_id", set: "revoked_at = $2", where }, [
    identityId,
    at,
  ]);
}
