import type { Tx } from "../../platform/db/types.ts";

/** A refresh token and the session it belongs to. */
export interface RefreshRow {
  session_uuid: string;
  user_uuid: string;
  org_uuid: string | null;
  device_uuid: string;
  amr: string[];
  auth_time: Date;
  expires_at: Date;
  used_at: Date | null;
  successor: Buffer | null;
  /** The session is neither revoked nor over. */
  live: boolean;
}

/** A refresh token by its hash. */
export async function findRefresh(tx: Tx, hash: Buffer, at: Date): Promise<RefreshRow | undefined> {
  const rows = await tx.query<RefreshRow>(
    `select r.session_uuid, s.user_uuid, s.org_uuid, s.device_uuid, s.amr, s.auth_time, r.expires_at, r.used_at, r.successor,
       (s.revoked_at is null and s.expires_at > $2) as live
     from refresh_tokens r join sessions s on s.uuid = r.session_uuid where r.hash = $1`,
    [hash, at],
  );
  return rows[0];
}

/** Stores a fresh refresh token. */
export async function insertRefresh(tx: Tx, hash: Buffer, sessionUuid: string, at: Date, expiresAt: Date): Promise<void> {
  await tx.query("insert into refresh_tokens (hash, session_uuid, created_at, expires_at) values ($1, $2, $3, $4)", [hash, sessionUuid, at, expiresAt]);
}

/** Uses a refresh token up, once: false when it was used or has expired. `successor` is sealed. */
export async function useRefresh(tx: Tx, hash: Buffer, successor: Buffer, at: Date): Promise<boolean> {
  const rows = await tx.query(
    "update refresh_tokens set used_at = $2, successor = $3 where hash = $1 and used_at is null and expires_at > $2 returning session_uuid",
    [hash, at, successor],
  );
  return rows.length === 1;
}

/** Prolongs a live session by a refresh; answers its new end, undefined when it is not live. */
export async function prolongSession(tx: Tx, uuid: string, at: Date, wanted: Date): Promise<Date | undefined> {
  const rows = await tx.query<{ expires_at: Date }>(
    `update sessions set expires_at = greatest(expires_at, least(refresh_until, $3)), last_seen_at = $2
     where uuid = $1 and revoked_at is null and expires_at > $2 returning least(refresh_until, $3) as expires_at`,
    [uuid, at, wanted],
  );
  return rows[0]?.expires_at;
}
