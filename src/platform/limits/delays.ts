import { createHash } from "node:crypto";
import { databaseMs, presentMs } from "../db/time.ts";
import type { LimiterDeps } from "./budget.ts";

/**
 * Back-off after consecutive failures: `firstMs` after `tolerated` of them, doubled by each further one up to `mostMs`.
 */
export interface DelayRule {
  name: string;
  tolerated: number;
  firstMs: number;
  mostMs: number;
  /** Failures this old no longer count. */
  forgetMs: number;
}

/** One attempt under a rule. */
export interface DelayedTry {
  /** Milliseconds until it is allowed; 0: now. */
  waitMs: number;
  /** Records that it was made and failed. */
  failed(): Promise<void>;
  /** Records that it was made and succeeded, which resets the failures. */
  passed(): Promise<void>;
}

/** Back-off shared by all instances, in PostgreSQL. */
export interface Delays {
  /** Begins an attempt of `subject`. @throws {unavailable} when the database is unavailable */
  begin(rule: DelayRule, subject: string): Promise<DelayedTry>;
}

const now = presentMs("$2");
// No wait is longer than the rule's: a time further ahead was written by a clock that was wrong.
const readSql = `select greatest(0, least(free_ms - ${now}, $3::bigint)) as wait
  from rate_delays where id = $1 and forget_ms > ${now}`;
const count = `(case when d.forget_ms <= ${now} then 1 else d.failures + 1 end)`;
const delay = (n: string): string =>
  `case when ${n} < $3::integer then 0
    else ${now} + least($4::bigint * (2 ^ least(${n} - $3::integer, 30))::bigint, $5::bigint) end`;
const failedSql = `
  insert into rate_delays as d (id, failures, free_ms, forget_ms) values ($1, 1, ${delay("1")}, ${now} + $6::bigint)
  on conflict (id) do update set failures = ${count}, free_ms = ${delay(count)}, forget_ms = ${now} + $6::bigint
  returning 1 as counted`;

/** Creates delays by the database's clock, which all instances share. */
export function createDelays({ database, clock }: Pick<LimiterDeps, "database" | "clock">): Delays {
  return {
    async begin(rule, subject) {
      const id = createHash("sha256").update(`${rule.name}\n${subject}`).digest();
      const params = [id, databaseMs(clock), rule.mostMs];
      const [row] = await database.prepared<{ wait: string }>("rate-delay-read", readSql, params);
      return {
        waitMs: Number(row?.wait ?? 0),
        async failed() {
          await database.prepared("rate-delay-failed", failedSql, [
            id,
            databaseMs(clock),
            rule.tolerated,
            rule.firstMs,
            rule.mostMs,
            rule.forgetMs,
          ]);
        },
        async passed() {
          if (row !== undefined)
            await database.prepared("rate-delay-passed", "delete from rate_delays where id = $1 returning 1 as one", [
              id,
            ]);
        },
      };
    },
  };
}
