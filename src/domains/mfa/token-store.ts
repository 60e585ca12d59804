import type { Database, Tx } from "../../platform/db/types.ts";
import { FAILURES_PER_TOKEN } from "./rules.ts";

/** What a sign-in still has to do after the second factor: the name of a step, and JSON for it. */
export interface NextStep {
  name: string;
  payload: Readonly<Record<string, unknown>>;
}

/** A sign-in that waits for the second factor. */
export interface PendingRow {
  userUuid: string;
  orgUuid: string | null;
  credentialsVersion: number;
  deviceUuid: string | null;
  amr: string[];
  next: NextStep | null;
  /** Neither used, nor expired, nor ended by failures. */
  live: boolean;
}

/** A sign-in to store; of its token only the hash. */
export interface PendingSignIn {
  hash: Buffer;
  userUuid: string;
  orgUuid: string | null;
  credentialsVersion: number;
  deviceUuid: string | null;
  amr: readonly string[];
  next: NextStep | null;
  at: Date;
  expiresAt: Date;
}

/** Stores a sign-in that waits, and deletes the person's expired ones. */
export async function insertPending(tx: Tx, pending: PendingSignIn): Promise<void> {
  await tx.query("delete from mfa_tokens where user_uuid = $1 and expires_at <= $2", [pending.userUuid, pending.at]);
  await tx.query(
    `insert into mfa_tokens
       (hash, user_uuid, org_uuid, credentials_version, device_uuid, amr, continuation, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9)`,
    [
      pending.hash,
      pending.userUuid,
      pending.orgUuid,
      pending.credentialsVersion,
      pending.deviceUuid,
      pending.amr,
      pending.next === null ? null : JSON.stringify(pending.next),
      pending.at,
      pending.expiresAt,
    ],
  );
}

/** The sign-in behind a token, live or not. */
export async function findPending(tx: Tx, hash: Buffer, at: Date): Promise<PendingRow | undefined> {
  const sql = `select user_uuid as "userUuid", org_uuid as "orgUuid", credentials_version as "credentialsVersion",
      device_uuid as "deviceUuid", amr, continuation as next,
      (used_at is null and expires_at > $2 and failures < $3) as live
    from mfa_tokens where hash = $1`;
  return (await tx.query<PendingRow>(sql, [hash, at, FAILURES_PER_TOKEN]))[0];
}

/** Counts a wrong code against the token it came with. */
export async function countTokenFailure(tx: Tx, hash: Buffer): Promise<void> {
  await tx.query("update mfa_tokens set failures = failures + 1 where hash = $1", [hash]);
}

/** Uses a token up: one of several concurrent transactions succeeds. False when it is not live. */
export async function usePending(tx: Tx, hash: Buffer, at: Date): Promise<boolean> {
  const sql = `update mfa_tokens set used_at = $2
    where hash = $1 and used_at is null and expires_at > $2 and failures < $3 returning hash`;
  return (await tx.query(sql, [hash, at, FAILURES_PER_TOKEN])).length === 1;
}

/** Deletes up to 1,000 tokens that expired before a time; returns how many. */
export async function deleteExpiredPending(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from mfa_tokens
    where hash = any(array(
      select hash from mfa_tokens where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("mfa_delete_expired_tokens", sql, [before])).length;
}
