import type { Database, Tx } from "../../platform/db/types.ts";

/** A sign-in between `authorize` and the callback. */
export interface StoredState {
  hash: Buffer;
  connectionUuid: string;
  /** Hash of the cookie that binds it to the browser. */
  cookieHash: Buffer;
  /** Nonce and PKCE verifier, sealed. */
  secrets: Buffer;
  redirectUri: string;
  /** The client's own state. */
  clientState: string | null;
  /** The client's own PKCE challenge. */
  codeChallenge: string | null;
  issuer: string;
  /** The provider always sends `iss` (RFC 9207 §3). */
  sendsIssuer: boolean;
  at: Date;
  expiresAt: Date;
}

/** Stores the start of a sign-in. */
export async function insertState(tx: Tx, state: StoredState): Promise<void> {
  await tx.query(
    `insert into oidc_states (hash, connection_uuid, cookie_hash, secrets, redirect_uri, client_state, code_challenge,
       issuer, sends_issuer, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      state.hash,
      state.connectionUuid,
      state.cookieHash,
      state.secrets,
      state.redirectUri,
      state.clientState,
      state.codeChallenge,
      state.issuer,
      state.sendsIssuer,
      state.at,
      state.expiresAt,
    ],
  );
}

/** Uses a state up: one of several concurrent callbacks succeeds. Undefined when state or cookie are not good. */
export async function useState(
  tx: Tx,
  {
    hash,
    connectionUuid,
    cookieHashes,
    at,
  }: {
    hash: Buffer;
    connectionUuid: string;
    cookieHashes: readonly Buffer[];
    at: Date;
  },
): Promise<StoredState | undefined> {
  const sql = `update oidc_states set used_at = $4
    where hash = $1 and connection_uuid = $2 and cookie_hash = any($3::bytea[]) and used_at is null and expires_at > $4
    returning hash, connection_uuid as "connectionUuid", cookie_hash as "cookieHash", secrets,
      redirect_uri as "redirectUri", client_state as "clientState", code_challenge as "codeChallenge", issuer,
      sends_issuer as "sendsIssuer", created_at as at, expires_at as "expiresAt"`;
  return (await tx.query<StoredState>(sql, [hash, connectionUuid, cookieHashes, at]))[0];
}

/** A session token and the identity it stands for. */
export interface StoredToken {
  hash: Buffer;
  connectionUuid: string;
  subject: string;
  sid: string | null;
  email: string;
  firstName: string;
  lastName: string;
  cookieHash: Buffer;
  codeChallenge: string | null;
  at: Date;
  expiresAt: Date;
}

/** Stores a session token. */
export async function insertSessionToken(tx: Tx, token: StoredToken): Promise<void> {
  await tx.query(
    `insert into oidc_session_tokens (hash, connection_uuid, subject, sid, email, first_name, last_name, cookie_hash,
       code_challenge, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      token.hash,
      token.connectionUuid,
      token.subject,
      token.sid,
      token.email,
      token.firstName,
      token.lastName,
      token.cookieHash,
      token.codeChallenge,
      token.at,
      token.expiresAt,
    ],
  );
}

/** Who presents a session token: with the verifier of the client's challenge, or the browser's cookie. */
export interface Presenter {
  /** S256 of the verifier; null without one. */
  codeChallenge: string | null;
  cookieHashes: readonly Buffer[];
}

/** Uses a session token up: one of several concurrent requests succeeds. */
export async function useSessionToken(
  tx: Tx,
  hash: Buffer,
  { codeChallenge, cookieHashes }: Presenter,
  at: Date,
): Promise<StoredToken | undefined> {
  const sql = `update oidc_session_tokens set used_at = $4
    where hash = $1 and used_at is null and expires_at > $4
      and case when code_challenge is null then cookie_hash = any($3::bytea[]) else code_challenge = $2 end
    returning hash, connection_uuid as "connectionUuid", subject, sid, email, first_name as "firstName",
      last_name as "lastName", cookie_hash as "cookieHash", code_challenge as "codeChallenge", created_at as at,
      expires_at as "expiresAt"`;
  return (await tx.query<StoredToken>(sql, [hash, codeChallenge, cookieHashes, at]))[0];
}

const oldLogouts = `delete from oidc_logouts where (connection_uuid, jti_hash) in (
    select connection_uuid, jti_hash from oidc_logouts where expires_at < $1 order by expires_at limit 1000)
  returning 1`;

/** Deletes up to 1,000 sign-ins, tokens and records of logouts each that expired before a time; returns how many. */
export async function deleteExpired(database: Database, before: Date): Promise<number> {
  const old = (table: string): string => `delete from ${table}
    where hash in (select hash from ${table} where expires_at < $1 order by expires_at limit 1000) returning 1`;
  return (
    (await database.prepared("oidc_old_states", old("oidc_states"), [before])).length +
    (await database.prepared("oidc_old_tokens", old("oidc_session_tokens"), [before])).length +
    (await database.prepared("oidc_old_logouts", oldLogouts, [before])).length
  );
}
