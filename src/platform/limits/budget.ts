import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/types.ts";

/** `limit` calls per `windowMs`: in every window of that length if `sliding`, otherwise as a token bucket. */
export interface Budget {
  name: string;
  limit: number;
  windowMs: number;
  sliding: boolean;
}

export interface LimiterDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  /** Subjects cached in this process, least recently used evicted first. Default 20,000. */
  maxSubjects?: number;
}

/** Returns the row id of a subject's budget: a hash, so that email and IP addresses are not stored. */
export function rowId(budget: Budget, subject: string): Buffer {
  return createHash("sha256").update(`${budget.name}\n${subject}`).digest();
}
