import { createHelperPool } from "../helper/pool.ts";
import type { HelperPool, HelperPoolOptions } from "../helper/pool.ts";

/** Cost of argon2id (RFC 9106). */
export interface PasswordCost {
  /** KiB. */
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A job without `digest` hashes the password; a job with one verifies the password against it. */
export type HashJob =
  | { password: string; cost: PasswordCost; digest?: undefined }
  | { password: string; digest: string };
export type HashResult = { digest: string } | { ok: boolean };

/** Runs hash jobs in a helper process, for clients by address. */
export function createHashPool(options: Omit<HelperPoolOptions, "name" | "program">): HelperPool<HashJob, HashResult> {
  const program = new URL("./password-worker.ts", import.meta.url);
  return createHelperPool({ ...options, name: "password helper", program });
}
