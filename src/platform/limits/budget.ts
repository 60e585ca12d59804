import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/types.ts";

/** One budget: `limit` calls in `windowMs`; `sliding` counts the calls of any window, else it is a token bucket. */
export interface Budget {
  name: string;
  limit: number;
  windowMs: number;
  sliding: boolean;
}

export interface LimiterDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  /** Subjects remembered in this process; the least recently seen is forgotten first. Default 20,000. */
  maxSubjects?: number;
}

/** Row of one subject's budget: a hash, so that addresses of people are not stored. */
export function rowId(budget: Budget, subject: string): Buffer {
  return createHash("sha256").update(`${budget.name}\n${subject}`).digest();
}
