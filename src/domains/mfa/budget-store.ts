import type { Tx } from "../../platform/db/types.ts";
import type { Budget, Count } from "./rules.ts";

/** A person's count, row locked until the transaction ends: attempts on one budget run one after another. */
export async function lockCount(tx: Tx, userUuid: string, budget: Budget): Promise<Count> {
  const [row] = await tx.query<Count>(
    `insert into mfa_failures (user_uuid, budget) values ($1, $2)
     on conflict (user_uuid, budget) do update set failures = mfa_failures.failures
     returning failures, wrong_codes as "wrongCodes", blocked_until as "blockedUntil"`,
    [userUuid, budget],
  );
  return row ?? { failures: 0, wrongCodes: 0, blockedUntil: null };
}

/** The end of a person's lockout; null without one. */
export async function readBlock(tx: Tx, userUuid: string, budget: Budget): Promise<Date | null> {
  const sql = "select blocked_until from mfa_failures where user_uuid = $1 and budget = $2";
  return (await tx.query<{ blocked_until: Date | null }>(sql, [userUuid, budget]))[0]?.blocked_until ?? null;
}

/** Stores a count. */
export async function writeCount(
  tx: Tx,
  userUuid: string,
  budget: Budget,
  { failures, wrongCodes, blockedUntil }: Count,
): Promise<void> {
  const sql = `update mfa_failures set failures = $3, wrong_codes = $4, blocked_until = $5
    where user_uuid = $1 and budget = $2`;
  await tx.query(sql, [userUuid, budget, failures, wrongCodes, blockedUntil]);
}

/** Starts the count of wrong codes at step-up anew for the next factor of a person, whose last one is gone. */
export async function forgetWrongCodes(tx: Tx, userUuid: string): Promise<void> {
  await tx.query("update mfa_failures set wrong_codes = 0 where user_uuid = $1", [userUuid]);
}
