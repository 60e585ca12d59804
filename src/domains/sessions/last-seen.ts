import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { createLru } from "../../platform/lru.ts";
import { touchSessions } from "./store.ts";

/** Minimum time between two writes of one session. */
const INTERVAL_MS = 60_000;
/** How long sessions are collected into a batch. */
const COLLECT_MS = 1_000;

/** Records when sessions were last used, after the requests that used them. */
export interface LastSeen {
  /** Records a use; returns the time from which the next use needs to be recorded, epoch milliseconds. */
  note(sid: string): number;
  /** Writes what has been recorded. */
  flush(): Promise<void>;
  /** Writes what has been recorded and stops. */
  close(): Promise<void>;
}

/**
 * Creates the record of last uses: at most one write per session and minute, in batches. A batch that cannot be written
 * is dropped.
 */
export function createLastSeen({
  database,
  clock,
  log,
}: {
  database: Database;
  clock: Clock;
  log: Pick<Log, "debug">;
}): LastSeen {
  const noted = createLru<number>(100_000);
  /** Sessions with the times of their uses, which are earlier than that of the write. */
  let waiting = new Map<string, Date>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return;
    const uses = waiting;
    waiting = new Map();
    await touchSessions(database.background, uses).catch((err: unknown) =>
      log.debug({ err }, "Cannot write when sessions were last used"),
    );
  }

  return {
    note(sid) {
      const now = clock.now();
      const before = noted.get(sid);
      if (before !== undefined && now - before < INTERVAL_MS) return before + INTERVAL_MS;
      noted.set(sid, now);
      waiting.set(sid, new Date(now));
      timer ??= setTimeout(() => void flush(), COLLECT_MS).unref();
      return now + INTERVAL_MS;
    },
    flush,
    close: flush,
  };
}
