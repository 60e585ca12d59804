import { present } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { CONNECTION_COLUMNS } from "./connection-store.ts";
import type { Connection } from "./connection-store.ts";

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

/** Stores the start of a sign-in. Returns false when its connection has been deleted, or is being deleted. */
export async function insertState(tx: Tx, state: StoredState): Promise<boolean> {
  const rows = await tx.query(
    `insert into oidc_states (hash, connection_uuid, cookie_hash, secrets, redirect_uri, client_state, code_challenge,
       issuer, sends_issuer, created_at, expires_at)
     select $1, c.uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11
     from oidc_connections c where c.uuid = $2 for key share returning 1 as one`,
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
  return rows.length > 0;
}

/** A sign-in that comes back. */
export interface UsedState {
  connection: Connection;
  /** Used up by this; null when state or cookie are not good. */
  state: Omit<StoredState, "connectionUuid" | "at" | "expiresAt"> | null;
}

/**
 * Uses a state up: one of several concurrent callbacks succeeds. Undefined when there is no such connection. It is one
 * statement, which commits by itself.
 */
export async function useState(
  database: Pick<Database, "prepared">,
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
): Promise<UsedState | undefined> {
  const sql = `with used as (
      update oidc_states set used_at = $4
      where hash = $1 and connection_uuid = $2 and cookie_hash = any($3::bytea[]) and used_at is null
        and expires_at > $4
      returning cookie_hash, secrets, redirect_uri, client_state, code_challenge, issuer, sends_issuer)
    select ${CONNECTION_COLUMNS}, s.cookie_hash as "cookieHash", s.secrets, s.redirect_uri as "redirectUri",
      s.client_state as "clientState", s.code_challenge as "codeChallenge", s.issuer, s.sends_issuer as "sendsIssuer"
    from oidc_connections c join organizations o on o.uuid = c.org_uuid and o.deleted_at is null
    left join used s on true where c.uuid = $2`;
  type Row = Connection & { cookieHash: Buffer | null } & Omit<NonNullable<UsedState["state"]>, "hash" | "cookieHash">;
  const [row] = await database.prepared<Row>("oidc_use_state", sql, [hash, connectionUuid, cookieHashes, at]);
  if (row === undefined) return undefined;
  const { cookieHash, ...all } = row;
  return { connection: all, state: cookieHash === null ? null : { ...all, hash, cookieHash } };
}

/** A session token and the identity it stands for. */
interface SessionToken {
  hash: Buffer;
  connectionUuid: string;
  subject: string;
  sid: string | null;
  email: string;
  firstName: string;
  lastName: string;
  cookieHash: Buffer;
  codeChallenge: string | null;
  /** By the database's clock, as the logouts that end it. */
  at: Date;
  expiresAt: Date;
}

/** A session token to store; `now` is a time of `databaseTime`. */
export type NewSessionToken = Omit<SessionToken, "at"> & { now: Date | null };

/**
 * Stores a session token, in one statement that commits by itself. Returns false when its connection has been deleted,
 * or is being deleted.
 */
export async function insertSessionToken(
  database: Pick<Database, "prepared">,
  token: NewSessionToken,
): Promise<boolean> {
  const rows = await database.prepared(
    "oidc_new_token",
    `insert into oidc_session_tokens (hash, connection_uuid, subject, sid, email, first_name, last_name, cookie_hash,
       code_challenge, created_at, expires_at)
     select $1, c.uuid, $3, $4, $5, $6, $7, $8, $9, ${present("$10")}, $11
     from oidc_connections c where c.uuid = $2 for key share returning 1 as one`,
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
      token.now,
      token.expiresAt,
    ],
  );
  return rows.length > 0;
}

/** Who presents a session token: with the verifier of the client's challenge, or the browser's cookie. */
export interface Presenter {
  /** S256 of the verifier; null without one. */
  codeChallenge: string | null;
  cookieHashes: readonly Buffer[];
}

/** A session token that has been used up, its connection, and the person whom the identity is linked to. */
export interface Redeemed
  extends Pick<SessionToken, "connectionUuid" | "subject" | "sid" | "email" | "firstName" | "lastName" | "at"> {
  orgUuid: string;
  allowedDomains: string[];
  /** Null where the identity is not linked. */
  userUuid: string | null;
  /** They are an active member, and stay it until the transaction ends. */
  isActive: boolean;
  /** Hash of the cookie that binds the sign-in to the browser. */
  cookieHash: Buffer;
}

/**
 * Uses a session token up: one of several concurrent requests succeeds. The connection is not deleted before the
 * transaction ends. Undefined for a token that is not good, and for a sign-in that the provider has ended.
 */
export async function redeemSessionToken(
  tx: Tx,
  hash: Buffer,
  { codeChallenge, cookieHashes }: Presenter,
  at: Date,
): Promise<Redeemed | undefined> {
  const sql = `select connection_uuid as "connectionUuid", org_uuid as "orgUuid", allowed_domains as "allowedDomains",
      subject, sid, email, first_name as "firstName", last_name as "lastName", created_at as at,
      user_uuid as "userUuid", is_active as "isActive",
      (select cookie_hash from oidc_session_tokens where hash = $1) as "cookieHash"
    from oidc_redeem($1, $2, $3::bytea[], $4)`;
  return (await tx.query<Redeemed>(sql, [hash, codeChallenge, cookieHashes, at]))[0];
}

/** The person whom the identity behind a session token is linked to, and the organization they enter. */
export const LINKED = `select i.user_uuid, c.org_uuid from oidc_session_tokens t
  join oidc_identities i on i.connection_uuid = t.connection_uuid and i.subject = t.subject
  join oidc_connections c on c.uuid = t.connection_uuid where t.hash = $1`;

const oldLogouts = `delete from oidc_logouts where ctid = any(array(
    select ctid from oidc_logouts where expires_at < $1 order by expires_at limit 1000 for update skip locked))
  returning 1`;

/** Deletes up to 1,000 sign-ins, tokens and records of logouts each that expired before a time; returns how many. */
export async function deleteExpired(database: Database, before: Date): Promise<number> {
  const old = (table: string): string => `delete from ${table} where hash = any(array(
      select hash from ${table} where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1`;
  return (
    (await database.prepared("oidc_old_states", old("oidc_states"), [before])).length +
    (await database.prepared("oidc_old_tokens", old("oidc_session_tokens"), [before])).length +
    (await database.prepared("oidc_old_logouts", oldLogouts, [before])).length
  );
}
