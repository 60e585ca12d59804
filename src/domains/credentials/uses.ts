import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { createLru } from "../../platform/lru.ts";

/** Interval in which one use of a credential is recorded. */
const INTERVAL_MS = 60_000;
/** Credentials whose last recorded use is remembered. */
const MAX_REMEMBERED = 50_000;

/** Records when credentials were last used. */
export interface UseRecorder {
  /** Records a use where none was recorded within the last minute. */
  record(id: string): Promise<void>;
}

/**
 * Creates the record of the uses of one kind of credential: at most one write for each in a minute. `write` returns
 * false when it had to leave the row alone, because a transaction has locked it; the next use tries again.
 */
export function createUseRecorder(clock: Clock, write: (id: string, at: Date) => Promise<boolean>): UseRecorder {
  const recorded = createLru<number>(MAX_REMEMBERED);
  return {
    async record(id) {
      const now = clock.now();
      const before = recorded.get(id);
      if (before !== undefined && now - before < INTERVAL_MS) return;
      recorded.set(id, now);
      if (!(await write(id, dateOf(clock)))) recorded.delete(id);
    },
  };
}
