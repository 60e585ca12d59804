import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { usableKeys } from "./store.ts";

interface Question {
  keyId: string;
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Asks whether keys may still be used, for streams that a key opened: what is asked in one turn of the event loop goes
 * in one query, and none of it waits for a transaction.
 */
export function createKeyHolds({ database, clock }: { database: Pick<Database, "watching">; clock: Clock }) {
  let waiting: Question[] = [];

  async function send(): Promise<void> {
    const asked = waiting;
    waiting = [];
    try {
      const usable = await usableKeys(database, [...new Set(asked.map(({ keyId }) => keyId))], dateOf(clock));
      for (const { keyId, resolve, reject } of asked) {
        if (usable.has(keyId)) resolve();
        else reject(errors.unauthorized());
      }
    } catch (reason) {
      for (const { reject } of asked) reject(reason);
    }
  }

  /**
   * Resolves while the key is neither revoked nor expired and its maker an active member. @throws {unauthorized}
   * otherwise
   */
  return (keyId: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void send());
      waiting.push({ keyId, resolve, reject });
    });
}
