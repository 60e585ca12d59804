import { createHash } from "node:crypto";
import { databaseMs, presentMs } from "../db/time.ts";
import type { Tx } from "../db/types.ts";
import type { LimiterDeps } from "./budget.ts";

/** Maximum number of consecutive failures, and how long they count after the last one. */
export interface StreakRule {
  name: string;
  most: number;
  forgetMs: number;
}

/** Consecutive failures, shared by all instances, which only a success resets. */
export interface Streaks {
  /**
   * Counts an attempt as failed before it is made, so that parallel attempts cannot exceed the maximum. Returns false,
   * and counts nothing, when `most` is reached.
   */
  charge(rule: StreakRule, subject: string): Promise<boolean>;
  /** Reverts the charge of an attempt that neither failed nor succeeded. */
  refund(rule: StreakRule, subject: string): Promise<void>;
  /** Whether there were `most` consecutive failures. */
  full(rule: StreakRule, subject: string): Promise<boolean>;
}

/** Failed sign-in attempts by email, from any address and by any sign-in method (decisions 13). */
export const SIGN_IN_FAILURES: StreakRule = { name: "sign_in", most: 100, forgetMs: 30 * 24 * 60 * 60 * 1000 };

const now = presentMs("$2");
const chargeSql = `
  insert into rate_delays as d (id, failures, free_ms, forget_ms) values ($1, 1, 0, ${now} + $4::bigint)
  on conflict (id) do update set
    failures = case when d.forget_ms <= ${now} then 1 else d.failures + 1 end, forget_ms = ${now} + $4::bigint
    where d.failures < $3::integer or d.forget_ms <= ${now}
  returning 1 as one`;
const refundSql = `
  with last as (delete from rate_delays where id = $1 and failures <= 1)
  update rate_delays set failures = failures - 1 where id = $1 and failures > 1 returning 1 as one`;
const fullSql = `select 1 as one from rate_delays
  where id = $1 and failures >= $3::integer and forget_ms > ${now}`;

/** Creates streaks in PostgreSQL, by the database's clock. */
export function createStreaks({ database, clock }: Pick<LimiterDeps, "database" | "clock">): Streaks {
  return {
    charge: async (rule, subject) =>
      (
        await database.prepared("rate-streak-charge", chargeSql, [
          idOf(rule, subject),
          databaseMs(clock),
          rule.most,
          rule.forgetMs,
        ])
      ).length > 0,
    async refund(rule, subject) {
      await database.prepared("rate-streak-refund", refundSql, [idOf(rule, subject)]);
    },
    async full(rule, subject) {
      const params = [idOf(rule, subject), databaseMs(clock), rule.most];
      return (await database.prepared("rate-streak-full", fullSql, params)).length > 0;
    },
  };
}

/** Resets a streak in the transaction of the success. */
export function endStreak(tx: Pick<Tx, "defer">, rule: StreakRule, subject: string): void {
  tx.defer("delete from rate_delays where id = $1", [idOf(rule, subject)]);
}

function idOf({ name }: StreakRule, subject: string): Buffer {
  return createHash("sha256").update(`${name}\n${subject}`).digest();
}
