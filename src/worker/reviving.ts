import type { Log } from "../platform/log.ts";

/** Things of one kind that wait for a workflow each. */
export interface Waiting {
  /** Ids of those that wait, by id: the next `limit` after one, the first ones for null. */
  list(after: string | null, limit: number): Promise<string[]>;
  /** Starts the workflow of one; false when it is under way, as it mostly is. */
  revive(id: string): Promise<boolean>;
}

/** Settings of {@link createReviving}. */
export interface RevivingOptions {
  /** By the word for them in the log. */
  kinds: Readonly<Record<string, Waiting>>;
  log: Log;
  /** Wait between rounds; default 5 minutes. */
  everyMs?: number;
  /** Wait after a round that failed, for Temporal or the database was away; default 15 s. */
  againMs?: number;
}

/** Gives what waits a workflow again where there is none. */
export interface Reviving {
  start(): void;
  /** Begins nothing more. */
  stop(): void;
}

/** Ids of one look, and workflows that are started at once. */
const PAGE = 500;
const AT_ONCE = 8;

/**
 * Rows say what has to happen, workflows only have the patience for it. Should Temporal lose them (its data gone,
 * another cluster or namespace), nothing would ever happen again; so whatever waits is given its workflow, at the start
 * and now and then. A workflow that is under way is left alone. Safe on every worker at once.
 */
export function createReviving({ kinds, log, everyMs = 300_000, againMs = 15_000 }: RevivingOptions): Reviving {
  let timer: NodeJS.Timeout | undefined;
  let stopped = true;

  async function reviveAll({ list, revive }: Waiting): Promise<number> {
    let revived = 0;
    for (let after: string | null = null; !stopped; ) {
      const ids: string[] = await list(after, PAGE);
      const left = [...ids];
      const one = async (): Promise<void> => {
        for (let id = left.shift(); id !== undefined && !stopped; id = left.shift()) if (await revive(id)) revived++;
      };
      await Promise.all(Array.from({ length: AT_ONCE }, one));
      const last = ids.at(-1);
      if (last === undefined || ids.length < PAGE) break;
      after = last;
    }
    return revived;
  }

  async function round(): Promise<void> {
    try {
      for (const [kind, waiting] of Object.entries(kinds)) {
        const revived = await reviveAll(waiting);
        if (revived > 0) log.info({ kind, workflows: revived }, "workflows were started for what waited without one");
      }
      again(everyMs);
    } catch (error) {
      log.debug({ err: error }, "lost workflows could not be looked for; tried again soon");
      again(againMs);
    }
  }

  function again(ms: number): void {
    if (!stopped) timer = setTimeout(() => void round(), ms).unref();
  }

  return {
    start() {
      stopped = false;
      void round();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
