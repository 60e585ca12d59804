import type { Database, Tx } from "../../platform/db/types.ts";

/** Ways to answer a challenge. */
export type StepUpMethod = "totp" | "magic_link" | "password";

/** A challenge. */
export interface ChallengeRow {
  method: StepUpMethod;
  tokenHash: Buffer | null;
  expiresAt: Date;
  consumedAt: Date | null;
}

/** A challenge to store. */
export interface NewChallenge {
  uuid: string;
  userUuid: string;
  sessionId: string;
  method: StepUpMethod;
  tokenHash: Buffer | null;
  at: Date;
  expiresAt: Date;
}

/** How long a challenge is kept after its expiry, so that it differs from one that never existed. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

/** Stores a challenge, and deletes the person's old ones. */
export async function insertChallenge(
  tx: Tx,
  { uuid, userUuid, sessionId, method, tokenHash, at, expiresAt }: NewChallenge,
): Promise<void> {
  await tx.query("delete from step_up_challenges where user_uuid = $1 and expires_at <= $2", [
    userUuid,
    new Date(at.getTime() - RETENTION_MS),
  ]);
  const sql = `insert into step_up_challenges
      (uuid, user_uuid, session_uuid, method, token_hash, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7)`;
  await tx.query(sql, [uuid, userUuid, sessionId, method, tokenHash, at, expiresAt]);
}

/** A challenge of this session. */
export async function findChallenge(tx: Tx, uuid: string, sessionId: string): Promise<ChallengeRow | undefined> {
  const sql = `select method, token_hash as "tokenHash", expires_at as "expiresAt", consumed_at as "consumedAt"
    from step_up_challenges where uuid = $1 and session_uuid = $2`;
  return (await tx.query<ChallengeRow>(sql, [uuid, sessionId]))[0];
}

/** Uses a challenge up: one of several concurrent transactions succeeds. False when it is consumed or expired. */
export async function consumeChallenge(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql = `update step_up_challenges set consumed_at = $2
    where uuid = $1 and consumed_at is null and expires_at > $2 returning uuid`;
  return (await tx.query(sql, [uuid, at])).length === 1;
}

/** Uses up the open challenges by mail of a session, which a newer one replaces. */
export async function replaceMailed(tx: Tx, sessionId: string, at: Date): Promise<void> {
  const sql = `update step_up_challenges set consumed_at = $2
    where session_uuid = $1 and method = 'magic_link' and consumed_at is null and expires_at > $2`;
  await tx.query(sql, [sessionId, at]);
}

/** Uses up the open challenges by mail of a person. */
export async function consumeMailed(tx: Tx, userUuid: string, at: Date): Promise<void> {
  const sql = `update step_up_challenges set consumed_at = $2
    where user_uuid = $1 and method = 'magic_link' and consumed_at is null and expires_at > $2`;
  await tx.query(sql, [userUuid, at]);
}

/** Deletes up to 1,000 challenges whose retention is over; returns how many. */
export async function deleteOldChallenges(database: Pick<Database, "prepared">, at: Date): Promise<number> {
  const sql = `delete from step_up_challenges where uuid = any(array(
      select uuid from step_up_challenges where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("step_up_delete_old", sql, [new Date(at.getTime() - RETENTION_MS)])).length;
}
