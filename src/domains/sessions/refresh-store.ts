import type { Tx } from "../../platform/db/types.ts";

/** A refresh token and the session it belongs to. */
export interface RefreshRow {
  sessionUuid: string;
  userUuid: string;
  orgUuid: string | null;
  deviceUuid: string;
  amr: string[];
  authTime: Date;
  expiresAt: Date;
  usedAt: Date | null;
  successor: Buffer | null;
  /** The session is neither revoked nor over. */
  live: boolean;
}

/** The end of the session that `s` is derived from; null, which `least` ignores, for a sign-in. */
const sourceEnd = (s: string): string => `(select o.expires_at from sessions o where o.uuid = ${s}.source_uuid)`;
/** The new `idle_until` of a derived session that is extended until `wanted`. */
const idleEnd = (s: string, wanted: string): string =>
  `case when ${s}.source_uuid is not null then least(${s}.refresh_until, ${wanted}) end`;

/** Person and organization of a live session, by the hash of a refresh token and the present time. */
export const LIVE_SESSION = `select s.user_uuid, s.org_uuid
  from refresh_tokens r join sessions s on s.uuid = r.session_uuid
  where r.hash = $1 and s.revoked_at is null and s.expires_at > $2`;

/** Returns a refresh token by its hash. */
export async function findRefresh(tx: Tx, hash: Buffer, at: Date): Promise<RefreshRow | undefined> {
  const rows = await tx.query<RefreshRow>(
    `select r.session_uuid as "sessionUuid", s.user_uuid as "userUuid", s.org_uuid as "orgUuid",
       s.device_uuid as "deviceUuid", s.amr, s.auth_time as "authTime", r.expires_at as "expiresAt",
       r.used_at as "usedAt", r.successor, (s.revoked_at is null and s.expires_at > $2) as live
     from refresh_tokens r join sessions s on s.uuid = r.session_uuid where r.hash = $1`,
    [hash, at],
  );
  return rows[0];
}

/** Stores a fresh refresh token. */
export function insertRefresh(tx: Tx, hash: Buffer, sessionUuid: string, at: Date, expiresAt: Date): void {
  tx.defer("insert into refresh_tokens (hash, session_uuid, created_at, expires_at) values ($1, $2, $3, $4)", [
    hash,
    sessionUuid,
    at,
    expiresAt,
  ]);
}

/** A refresh token and its successor. */
export interface Rotation {
  hash: Buffer;
  /** The hash of the successor, and the successor sealed. */
  next: Buffer;
  successor: Buffer;
  at: Date;
  /** Requested expiry of the successor. */
  wanted: Date;
}

/**
 * Marks a refresh token as used, prolongs its session and stores the next token, in one statement. The
 * transaction runs again when the token was used or has expired, or its session is not live.
 */
export function rotateRefresh(tx: Tx, { hash, next, successor, at, wanted }: Rotation): void {
  tx.defer(
    `with used as (
       update refresh_tokens set used_at = $2, successor = $3
       where hash = $1 and used_at is null and expires_at > $2 returning session_uuid
     ), prolonged as (
       update sessions s set expires_at = greatest(s.expires_at, least(s.refresh_until, $4, ${sourceEnd("s")})),
         idle_until = ${idleEnd("s", "$4")}, last_seen_at = $2
       from used where s.uuid = used.session_uuid and s.revoked_at is null and s.expires_at > $2
       returning s.uuid, least(s.refresh_until, $4) as until
     ), added as (
       insert into refresh_tokens (hash, session_uuid, created_at, expires_at)
       select $5, uuid, $2, until from prolonged returning hash
     ) select expect_found(exists (select from added))`,
    [hash, at, successor, wanted, next],
  );
}

/** Extends a live session by a refresh; returns its new end, undefined when it is not live. */
export async function prolongSession(tx: Tx, uuid: string, at: Date, wanted: Date): Promise<Date | undefined> {
  const rows = await tx.query<{ expiresAt: Date }>(
    `update sessions s set expires_at = greatest(s.expires_at, least(s.refresh_until, $3, ${sourceEnd("s")})),
       idle_until = ${idleEnd("s", "$3")}, last_seen_at = $2
     where s.uuid = $1 and s.revoked_at is null and s.expires_at > $2 returning s.expires_at as "expiresAt"`,
    [uuid, at, wanted],
  );
  return rows[0]?.expiresAt;
}
