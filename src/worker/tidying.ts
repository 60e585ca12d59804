import type { Log } from "../platform/log.ts";

/** Settings of {@link createTidying}. */
export interface TidyingOptions {
  /** Each forgets a batch of what is over for good and answers how many rows that were; safe on every instance at once. */
  tasks: Readonly<Record<string, () => Promise<number>>>;
  log: Log;
  /** Wait between rounds; default 10 minutes. */
  everyMs?: number;
}

/** Forgets what is over for good. Validity never depends on it: rows say themselves how long they are good for. */
export interface Tidying {
  start(): void;
  /** One round now; rejects never. */
  round(): Promise<void>;
  stop(): void;
}

/** Batches a task may take in one round, so that a backlog is worked off without holding up the others. */
const batches = 20;

/** Runs the tasks one after another, now and again. */
export function createTidying({ tasks, log, everyMs = 600_000 }: TidyingOptions): Tidying {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function round(): Promise<void> {
    for (const [name, task] of Object.entries(tasks)) {
      try {
        for (let batch = 0; batch < batches && !stopped && (await task()) > 0; batch++);
      } catch (err) {
        log.debug({ err, task: name }, "tidying failed, the next round tries again");
      }
    }
  }

  return {
    start() {
      timer = setInterval(() => void round(), everyMs).unref();
    },
    round,
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
