import { present } from "../../platform/db/time.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Logout } from "./logout-token.ts";

/** A logout that is stored. */
export interface StoredLogout extends Omit<Logout, "jti"> {
  connectionUuid: string;
  jtiHash: Buffer;
  /** A time of `databaseTime`: sign-ins on other instances are compared with it. */
  now: Date | null;
  /** From then on a token with this `jti` is too old to be accepted. */
  expiresAt: Date;
}

/** Locks a connection against sign-ins until the transaction ends; false when there is none. */
export async function lockForLogout(tx: Tx, uuid: string): Promise<boolean> {
  const sql = "select 1 as one from oidc_connections where uuid = $1 for no key update";
  return (await tx.query(sql, [uuid])).length === 1;
}

/** Stores a logout; false when its `jti` has been stored before. */
export async function insertLogout(tx: Tx, one: StoredLogout): Promise<boolean> {
  const rows = await tx.query(
    `insert into oidc_logouts (connection_uuid, jti_hash, subject, sid, created_at, expires_at)
     values ($1, $2, $3, $4, ${present("$5")}, $6) on conflict do nothing returning 1 as one`,
    [one.connectionUuid, one.jtiHash, one.subject, one.sid, one.now, one.expiresAt],
  );
  return rows.length === 1;
}

/** A live session that an identity opened. */
export interface OpenedSession {
  sessionUuid: string;
  userUuid: string;
}

/** Maximum number of sessions that one statement ends. */
const BATCH = 1_000;

/**
 * Up to 1,000 live sessions that a logout ends: those of `sid` where it is given, of one who cannot be told apart by it
 * too, else all of `subject`.
 */
export function sessionsToEnd(
  tx: Tx,
  connectionUuid: string,
  { subject, sid }: Pick<Logout, "subject" | "sid">,
  at: Date,
): Promise<OpenedSession[]> {
  const whose =
    sid === null
      ? "o.subject = $2"
      : subject === null
        ? "o.sid = $3"
        : "o.subject = $2 and (o.sid = $3 or o.sid is null)";
  return tx.query<OpenedSession>(
    `select s.uuid as "sessionUuid", s.user_uuid as "userUuid"
     from oidc_sessions o join sessions s on s.uuid = o.session_uuid and s.revoked_at is null and s.expires_at > $4
     where o.connection_uuid = $1 and ${whose} and ($2::text is not null or $3::text is not null) limit ${BATCH}`,
    [connectionUuid, subject, sid, at],
  );
}

/** Whether the provider has ended a sign-in there: its session for good, or all of the person's up to a moment. */
export async function isLoggedOut(
  tx: Tx,
  { connectionUuid, subject, sid, at }: { connectionUuid: string; subject: string; sid: string | null; at: Date },
): Promise<boolean> {
  const sql = "select 1 as one where oidc_logged_out($1, $2, $3, $4)";
  return (await tx.query(sql, [connectionUuid, subject, sid, at])).length === 1;
}
