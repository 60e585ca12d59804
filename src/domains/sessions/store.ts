import type { Database, Tx } from "../../platform/db/types.ts";
import { endTogether } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";

/** A session to open. Times are absolute. */
export interface NewSession {
  uuid: string;
  userUuid: string;
  orgUuid: string | null;
  deviceUuid: string;
  amr: readonly string[];
  authTime: Date;
  createdAt: Date;
  address: string;
  userAgent: string;
  /** End of the session unless it is refreshed. */
  expiresAt: Date;
  /** No refresh goes beyond this; null for a session that cannot be refreshed. */
  refreshUntil: Date | null;
  /** When the second factor was proven, where it was. */
  secondFactorAt: Date | null;
}

/** Stores a session. */
export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.query(
    `insert into sessions (uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address, user_agent,
       expires_at, refresh_until, second_factor_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12)`,
    [
      session.uuid,
      session.userUuid,
      session.orgUuid,
      session.deviceUuid,
      session.amr,
      session.authTime,
      session.createdAt,
      session.address,
      session.userAgent,
      session.expiresAt,
      session.refreshUntil,
      session.secondFactorAt,
    ],
  );
}

/** Notes which of their organizations somebody used last. */
export async function markUsed(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<void> {
  await tx.query("update memberships set last_used_at = $3 where org_uuid = $1 and user_uuid = $2", [orgUuid, userUuid, at]);
}

/** Notes that the second factor was proven in a session. */
export async function markSecondFactor(tx: Tx, uuid: string, at: Date): Promise<void> {
  await tx.query("update sessions set second_factor_at = $2 where uuid = $1", [uuid, at]);
}

/** When the second factor was last proven in a session; null where it never was. */
export async function secondFactorAt(tx: Tx, uuid: string): Promise<Date | null> {
  const rows = await tx.query<{ second_factor_at: Date | null }>("select second_factor_at from sessions where uuid = $1", [uuid]);
  return rows[0]?.second_factor_at ?? null;
}

/** How a live session was opened; undefined when it has ended. It cannot end until the transaction does. */
export async function keepLive(tx: Tx, uuid: string | null, at: Date): Promise<{ amr: string[]; auth_time: Date } | undefined> {
  const sql = "select amr, auth_time from sessions where uuid = $1 and revoked_at is null and expires_at > $2 for share";
  return (await tx.query<{ amr: string[]; auth_time: Date }>(sql, [uuid, at]))[0];
}

/** Ends a session; false when it was not live. */
export async function revokeSession(tx: Tx, uuid: string, reason: string, at: Date): Promise<boolean> {
  const rows = await tx.query(
    `update sessions set revoked_at = $2, revoked_reason = $3
     where uuid = $1 and revoked_at is null and expires_at > $2 returning uuid`,
    [uuid, at, reason],
  );
  return rows.length === 1;
}

/** Ends every live session of a person but `spared`. */
export function revokeSessionsOf(tx: Tx, userUuid: string, reason: string, at: Date, spared: string | null = null): Promise<EndedSessions[]> {
  const sql = `update sessions set revoked_at = $2, revoked_reason = $3
    where user_uuid = $1 and revoked_at is null and expires_at > $2 and ($4::uuid is null or uuid <> $4)`;
  return endTogether(tx, sql, [userUuid, at, reason, spared]);
}

/** A session as its person sees it. */
export interface OwnSessionRow {
  uuid: string;
  device_uuid: string;
  created_at: Date;
  last_seen_at: Date;
}

/** A page of somebody's live sessions, last seen first. */
export function ownSessions(database: Database, userUuid: string, at: Date, limit: number, offset: number): Promise<OwnSessionRow[]> {
  const sql = `select uuid, device_uuid, created_at, last_seen_at from sessions
    where user_uuid = $1 and revoked_at is null and expires_at > $2
    order by last_seen_at desc, created_at desc, uuid limit $3 offset $4`;
  return database.prepared<OwnSessionRow>("sessions_own", sql, [userUuid, at, limit, offset]);
}

/** How many live sessions somebody has. */
export async function countOwnSessions(database: Database, userUuid: string, at: Date): Promise<number> {
  const sql = "select count(*)::int as n from sessions where user_uuid = $1 and revoked_at is null and expires_at > $2";
  return (await database.prepared<{ n: number }>("sessions_own_count", sql, [userUuid, at]))[0]?.n ?? 0;
}

/** Notes that sessions are in use. */
export async function touchSessions(database: Database, sids: readonly string[], at: Date): Promise<void> {
  const sql = "update sessions set last_seen_at = $2 where uuid = any($1::uuid[]) and last_seen_at < $2";
  await database.prepared("sessions_touch", sql, [sids, at]);
}

/** Forgets sessions that ended before `before`, at most 1,000, with their refresh tokens; answers how many. */
export async function forgetSessions(database: Database, before: Date): Promise<number> {
  const sql = `delete from sessions where uuid in (select uuid from sessions where expires_at < $1 order by expires_at limit 1000) returning 1`;
  return (await database.prepared("sessions_forget", sql, [before])).length;
}
