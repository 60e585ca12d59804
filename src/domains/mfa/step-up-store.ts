import type { Database, Tx } from "../../platform/db/types.ts";

/** Ways to answer a challenge. */
export type StepUpMethod = "totp" | "magic_link" | "password";

/** A challenge. */
export interface ChallengeRow {
  method: StepUpMethod;
  token_hash: Buffer | null;
  expires_at: Date;
  consumed_at: Date | null;
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

/** How long a challenge is remembered after its end, so that it is told from one that never was. */
const rememberedMs = 24 * 60 * 60 * 1000;

/** Stores a challenge, and forgets the person's old ones. */
export async function insertChallenge(
  tx: Tx,
  { uuid, userUuid, sessionId, method, tokenHash, at, expiresAt }: NewChallenge,
): Promise<void> {
  await tx.query("delete from step_up_challenges where user_uuid = $1 and expires_at <= $2", [
    userUuid,
    new Date(at.getTime() - rememberedMs),
  ]);
  const sql = `insert into step_up_challenges (uuid, user_uuid, session_uuid, method, token_hash, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7)`;
  await tx.query(sql, [uuid, userUuid, sessionId, method, tokenHash, at, expiresAt]);
}

/** A challenge of this session. */
export async function findChallenge(tx: Tx, uuid: string, sessionId: string): Promise<ChallengeRow | undefined> {
  const sql =
    "select method, token_hash, expires_at, consumed_at from step_up_challenges where uuid = $1 and session_uuid = $2";
  return (await tx.query<ChallengeRow>(sql, [uuid, sessionId]))[0];
}

/** Uses a challenge up: one winner however many try. False when it is consumed or over. */
export async function consumeChallenge(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql =
    "update step_up_challenges set consumed_at = $2 where uuid = $1 and consumed_at is null and expires_at > $2 returning uuid";
  return (await tx.query(sql, [uuid, at])).length === 1;
}

/** Uses up the challenges of a person whose tokens are under way by mail. */
export async function consumeMailed(tx: Tx, userUuid: string, at: Date): Promise<void> {
  const sql =
    "update step_up_challenges set consumed_at = $2 where user_uuid = $1 and method = 'magic_link' and consumed_at is null and expires_at > $2";
  await tx.query(sql, [userUuid, at]);
}

/** Forgets some of the challenges whose end is further back than they are remembered; answers how many. */
export async function forgetChallenges(database: Pick<Database, "prepared">, at: Date): Promise<number> {
  const sql =
    "delete from step_up_challenges where uuid in (select uuid from step_up_challenges where expires_at < $1 order by expires_at limit 1000) returning 1 as one";
  return (await database.prepared("step-up-challenges-forget", sql, [new Date(at.getTime() - rememberedMs)])).length;
}
