import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { usableKeys } from "./api-key-store.ts";

interface Check {
  keyId: string;
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Creates a check whether keys are still valid, for streams that a key opened: checks of one turn of the event loop
 * share a query on connections of their own.
 */
export function createKeyHolds({ database, clock }: { database: Pick<Database, "watching">; clock: Clock }) {
  let waiting: Check[] = [];

  async function send(): Promise<void> {
    const checks = waiting;
    waiting = [];
    try {
      const usable = await usableKeys(database, [...new Set(checks.map(({ keyId }) => keyId))], dateOf(clock));
      for (const { keyId, resolve, reject } of checks) {
        if (usable.has(keyId)) resolve();
        else reject(errors.unauthorized());
      }
    } catch (reason) {
      for (const { reject } of checks) reject(reason);
    }
  }

  /** @throws {unauthorized} when the key is revoked or expired, or its creator is no active member */
  return (keyId: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void send());
      waiting.push({ keyId, resolve, reject });
    });
}
