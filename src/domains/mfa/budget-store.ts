import type { Tx } from "../../platform/db/types.ts";
import type { Budget, Count } from "./rules.ts";

/** A person's count, row locked until the transaction ends: attempts on one budget run one after another. */
export async function lockCount(tx: Tx, userUuid: string, budget: Budget): Promise<Count> {
  const [row] = await tx.query<{ failures: number; blocked_until: Date | null }>(
    `insert into mfa_failures (user_uuid, budget) values ($1, $2)
     on conflict (user_uuid, budget) do update set failures = mfa_failures.failures returning failures, blocked_until`,
    [userUuid, budget],
  );
  return { failures: row?.failures ?? 0, blockedUntil: row?.blocked_until ?? null };
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
  { failures, blockedUntil }: Count,
): Promise<void> {
  await tx.query("update mfa_failures set failures = $3, blocked_until = $4 where user_uuid = $1 and budget = $2", [
    userUuid,
    budget,
    failures,
    blockedUntil,
  ]);
}
