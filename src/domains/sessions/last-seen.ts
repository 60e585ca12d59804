import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import { createLru } from "../../platform/lru.ts";
import { touchSessions } from "./store.ts";

/** How often a session's time is written at most, milliseconds. */
const everyMs = 60_000;
/** How long notes are gathered before they are written. */
const gatherMs = 1_000;

/** Notes when sessions were last used, off the path of the request that used them. */
export interface LastSeen {
  note(sid: string): void;
  /** Writes what has been noted. */
  flush(): Promise<void>;
  /** Writes what has been noted and stops. */
  close(): Promise<void>;
}

/** A note of each session at most once a minute, written in batches. A batch that cannot be written is dropped. */
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
  let waiting = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return;
    const sids = [...waiting];
    waiting = new Set();
    await touchSessions(database.background, sids, dateOf(clock)).catch((err: unknown) =>
      log.debug({ err }, "last use of sessions not written"),
    );
  }

  return {
    note(sid) {
      const now = clock.now();
      const before = noted.get(sid);
      if (before !== undefined && now - before < everyMs) return;
      noted.set(sid, now);
      waiting.add(sid);
      timer ??= setTimeout(() => void flush(), gatherMs).unref();
    },
    flush,
    close: flush,
  };
}
