import type { Clock } from "./clock.ts";
import { isExhausted } from "./db/failure.ts";
import { ServiceError } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";
import { TemporalFailure } from "./temporal/failure.ts";
import { withoutTrace } from "./tracing.ts";

/** What every poller needs. */
export interface PollerDeps {
  clock: Pick<Clock, "now">;
  /** Source of the jitter. */
  random: Pick<Random, "int">;
  log: Pick<Log, "debug" | "info" | "warn" | "error">;
}

/** What a run can do besides its own work. */
export interface PollerRun {
  /** Aborted by {@link Poller.drain}: the run begins nothing more and returns soon. */
  readonly signal: AbortSignal;
  /** Begins work that outlives the run. It occupies a place until it ends; its end nudges the poller. */
  begin(work: () => Promise<unknown>): void;
}

/** Declaration of a poller. */
export interface PollerOptions {
  /** Label in metrics and log lines. */
  name: string;
  /** Wait between the end of a run and the next run, unless it is nudged. */
  intervalMs: number;
  /** Wait between {@link Poller.start} and the first run; default 0. */
  firstRunMs?: number;
  /** Waits after consecutive failed runs: doubled from `firstMs` up to `maxMs`, with jitter over the upper half. */
  backOff: { firstMs: number; maxMs: number };
  /**
   * Does what is due. Resolves to true when more is due now; rejects when it failed as a whole. A run that claims rows
   * leases them in the statement that reads them, so that they are due again after a crash.
   */
  run(run: PollerRun): Promise<unknown>;
}

/** Counters of a poller since the process started. */
export interface PollerStats {
  runs: number;
  failures: number;
  /** Duration of all runs together. */
  seconds: number;
  /** End of the last run that succeeded, milliseconds since the epoch; 0 when none has. */
  lastSuccessAt: number;
}

/** Background work in runs of which at most one is under way. */
export interface Poller {
  readonly name: string;
  start(): void;
  /** Requests a run now. A nudge during a run causes one more run, however many they are; before the start, none. */
  nudge(): void;
  /** Begins no run for `ms`, then one. Nudges within that time are satisfied by this run. */
  pause(ms: number): void;
  /** Number of places occupied by work that was begun. */
  inFlight(): number;
  stats(): Readonly<PollerStats>;
  /** Begins no further run and waits for the present run and all work in flight; false when `graceMs` pass first. */
  drain(graceMs: number): Promise<boolean>;
}

/** Whether work failed because the database or Temporal is away. */
function isServerAway(error: unknown): boolean {
  if (error instanceof TemporalFailure) return error.retryable;
  return error instanceof ServiceError && error.status === 503 && !isExhausted(error);
}

/** Creates a poller; nothing runs before its start. */
export function createPoller({ clock, random, log }: PollerDeps, options: PollerOptions): Poller {
  const { name, intervalMs, firstRunMs = 0, backOff } = options;
  const inFlight = new Set<Promise<void>>();
  const stats: PollerStats = { runs: 0, failures: 0, seconds: 0, lastSuccessAt: 0 };
  /** Undefined before the start; aborted from the drain on. */
  let stop: AbortController | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the timer ends a pause, before which no run begins. */
  let isPaused = false;
  let isRunRequested = false;
  let isRunning = false;
  let running: Promise<void> | undefined;
  let consecutiveFailures = 0;
  /** Whether a warning told of the present failures. */
  let isWarned = false;

  const isActive = (): boolean => stop !== undefined && !stop.signal.aborted;

  function nudge(): void {
    if (!isActive()) return;
    isRunRequested = true;
    // A run serves all who requested it, so it belongs to the trace of none of them.
    if (!isPaused && !isRunning) running = withoutTrace(runWhileRequested);
  }

  function wakeAfter(ms: number): void {
    clearTimeout(timer);
    timer = withoutTrace(() => setTimeout(wake, ms));
  }

  function wake(): void {
    isPaused = false;
    nudge();
  }

  function pause(ms: number): void {
    if (isPaused || !isActive()) return;
    isPaused = true;
    wakeAfter(ms);
  }

  async function runWhileRequested(): Promise<void> {
    isRunning = true;
    while (isRunRequested && !isPaused && isActive()) {
      isRunRequested = false;
      await runOnce(stop as AbortController);
    }
    isRunning = false;
    if (!isPaused && isActive()) wakeAfter(intervalMs);
  }

  async function runOnce({ signal }: AbortController): Promise<void> {
    const startedAt = performance.now();
    try {
      if ((await options.run({ signal, begin })) === true) isRunRequested = true;
      succeed();
    } catch (error) {
      fail(error, signal);
    } finally {
      stats.runs++;
      stats.seconds += (performance.now() - startedAt) / 1_000;
    }
  }

  function succeed(): void {
    stats.lastSuccessAt = clock.now();
    if (isWarned) log.info({ poller: name, failures: consecutiveFailures }, "A poller recovered");
    isWarned = false;
    consecutiveFailures = 0;
  }

  function fail(error: unknown, { aborted }: AbortSignal): void {
    stats.failures++;
    consecutiveFailures++;
    // The loss of a server is logged once for the process, and `/readyz` reports it.
    const isNews = !isWarned && !isServerAway(error) && !aborted;
    isWarned ||= isNews;
    log[isNews ? "warn" : "debug"]({ err: error, poller: name }, "A poller failed and retries");
    pause(backOffMs());
  }

  function backOffMs(): number {
    const longest = Math.min(backOff.maxMs, backOff.firstMs * 2 ** (consecutiveFailures - 1));
    return longest - random.int(0, Math.floor(longest / 2) + 1);
  }

  function begin(work: () => Promise<unknown>): void {
    const ended = work()
      .catch((error: unknown) => log.error({ err: error, poller: name }, "Work begun by a poller failed"))
      .then(() => {
        inFlight.delete(ended);
        nudge();
      });
    inFlight.add(ended);
  }

  async function settle(): Promise<true> {
    await running;
    while (inFlight.size > 0) await Promise.all(inFlight);
    return true;
  }

  return {
    name,
    start() {
      if (isActive()) return;
      stop = new AbortController();
      if (firstRunMs > 0) wakeAfter(firstRunMs);
      else wake();
    },
    nudge,
    pause,
    inFlight: () => inFlight.size,
    stats: () => stats,
    async drain(graceMs) {
      stop?.abort();
      clearTimeout(timer);
      let graceTimer: NodeJS.Timeout | undefined;
      const grace = new Promise<false>((resolve) => {
        graceTimer = setTimeout(() => resolve(false), graceMs);
      });
      const isSettled = await Promise.race([settle(), grace]);
      clearTimeout(graceTimer);
      if (!isSettled) log.info({ poller: name, inFlight: inFlight.size }, "A poller still had work after its drain");
      return isSettled;
    },
  };
}
