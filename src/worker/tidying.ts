import type { Log } from "../platform/log.ts";

/** Settings of {@link createTidying}. */
export interface TidyingOptions {
  /**
   * Each forgets a batch of what is over for good and answers how many rows that were; safe on every instance at once.
   */
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

/**
 * Fewer rows are left for the next round: a task that always finds a few that have just ended would otherwise never be
 * done.
 */
const WORTH_A_BATCH = 20;

/** Runs the tasks now and again, a batch of each in turn, until none has much left. */
export function createTidying({ tasks, log, everyMs = 600_000 }: TidyingOptions): Tidying {
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let stopped = false;

  /** Whether the task may have much more to do. */
  async function batch(name: string, task: () => Promise<number>): Promise<boolean> {
    try {
      return (await task()) >= WORTH_A_BATCH;
    } catch (err) {
      log.debug({ err, task: name }, "tidying failed, the next round tries again");
      return false;
    }
  }

  async function work(): Promise<void> {
    for (let left = Object.entries(tasks); left.length > 0; ) {
      const more: typeof left = [];
      for (const [name, task] of left) if (!stopped && (await batch(name, task))) more.push([name, task]);
      left = more;
    }
  }

  /** A round that is asked for while one is under way is the same one. */
  const round = (): Promise<void> => (working ??= work().finally(() => (working = undefined)));

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
