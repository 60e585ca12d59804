import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { mapFailure } from "../../src/platform/db/index.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { exportPollers } from "../../src/platform/poller-metrics.ts";
import { createPoller } from "../../src/platform/poller.ts";
import type { PollerOptions } from "../../src/platform/poller.ts";
import { TemporalFailure } from "../../src/platform/temporal/failure.ts";
import { testClock } from "../support/clock.ts";
import { pollerDeps } from "../support/pollers.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const declaration = { name: "test", intervalMs: 1_000, backOff: { firstMs: 100, maxMs: 1_000 } };

/** A poller that logs into `lines` and whose jitter is the share `jitter` of the maximum. */
function start(options: Partial<PollerOptions> & Pick<PollerOptions, "run">, jitter = 0) {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (facts: object): void =>
      void lines.push(`${level} ${Object.keys(facts).join(" ")}`);
  const log = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  const random = { int: (min: number, max: number) => Math.floor(min + (max - 1 - min) * jitter) };
  const clock = testClock();
  const poller = createPoller({ clock, random, log }, { ...declaration, ...options });
  poller.start();
  return { poller, lines, clock };
}

/** A run that the test ends. */
function heldRun() {
  const ends: (() => void)[] = [];
  const run = (): Promise<void> => new Promise((resolve) => void ends.push(resolve));
  return { run, ends, finish: async () => (ends.at(-1)?.(), await vi.advanceTimersByTimeAsync(0)) };
}

it("a poller runs at its start and then at its interval", async () => {
  let runs = 0;
  const { poller } = start({ run: async () => runs++ });
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(999);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(2_001);
  expect(runs).toBe(4);
  expect(await poller.drain(0)).toBe(true);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs).toBe(4);
});

it("a poller with a wait before its first run can be nudged before that", async () => {
  let runs = 0;
  const { poller } = start({ firstRunMs: 5_000, run: async () => runs++ });
  await vi.advanceTimersByTimeAsync(4_999);
  expect(runs).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toBe(1);
  poller.nudge();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toBe(2);
});

it("a poller ignores nudges before its start and after its drain", async () => {
  let runs = 0;
  const poller = createPoller(pollerDeps, { ...declaration, run: async () => runs++ });
  poller.nudge();
  expect(await poller.drain(0)).toBe(true);
  poller.nudge();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs).toBe(0);
});

it("any number of nudges during a run cause exactly one more run", async () => {
  const { run, ends, finish } = heldRun();
  const { poller } = start({ run });
  for (let i = 0; i < 5; i++) poller.nudge();
  expect(ends).toHaveLength(1);
  await finish();
  expect(ends).toHaveLength(2);
  await finish();
  expect(ends).toHaveLength(2);
});

it("a run that nudges its own poller synchronously does not run concurrently with itself", async () => {
  let [active, most, runs] = [0, 0, 0];
  const { poller } = start({
    firstRunMs: 1,
    run: async () => {
      most = Math.max(most, ++active);
      if (++runs < 3) poller.nudge();
      await Promise.resolve();
      active--;
    },
  });
  await vi.advanceTimersByTimeAsync(1);
  expect([most, runs]).toEqual([1, 3]);
});

it("a run that resolves to true is followed by the next run at once", async () => {
  let left = 3;
  start({ run: async () => --left > 0 });
  await vi.advanceTimersByTimeAsync(0);
  expect(left).toBe(0);
});

it.each([
  [0, [100, 200, 400, 800, 1_000, 1_000]],
  [1, [50, 100, 200, 400, 500, 500]],
])("failed runs are retried with doubling waits up to the longest, with jitter %d", async (jitter, waits) => {
  const at: number[] = [];
  start({ run: async () => Promise.reject(new Error(String(at.push(Date.now())))) }, jitter);
  await vi.advanceTimersByTimeAsync(waits.reduce((sum, wait) => sum + wait));
  expect(at.slice(1).map((time, i) => time - (at[i] ?? 0))).toEqual(waits);
});

it("nudges during a back-off are satisfied by the run at its end", async () => {
  let [runs, isAway] = [0, true];
  const { poller } = start({
    run: async () => {
      runs++;
      if (isAway) throw new Error("away");
    },
  });
  await vi.advanceTimersByTimeAsync(0);
  isAway = false;
  for (let i = 0; i < 5; i++) poller.nudge();
  await vi.advanceTimersByTimeAsync(99);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toBe(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(runs).toBe(2);
});

it("a paused poller begins no run until the pause is over, and then one", async () => {
  let runs = 0;
  const { poller } = start({ run: async () => runs++ });
  await vi.advanceTimersByTimeAsync(500);
  poller.pause(700);
  poller.pause(10_000);
  poller.nudge();
  await vi.advanceTimersByTimeAsync(699);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toBe(2);
});

it("a poller logs the first of several failures and the recovery at a visible level", async () => {
  let failures = 3;
  const { lines } = start({
    run: () => {
      if (failures-- > 0) throw new Error("away");
      return Promise.resolve();
    },
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(lines).toEqual(["warn err poller", "debug err poller", "debug err poller", "info poller failures"]);
});

it("a poller logs that the disk of the database is full, and not that the database is away", async () => {
  const failing = async (code: string) => {
    const { lines } = start({
      run: () => {
        throw mapFailure(Object.assign(new Error("failed"), { code }));
      },
    });
    await vi.advanceTimersByTimeAsync(0);
    return lines;
  };
  expect(await failing("53100")).toEqual(["warn err poller"]);
  expect(await failing("ECONNREFUSED")).toEqual(["debug err poller"]);
  expect(await failing("53300")).toEqual(["debug err poller"]);
});

it("a poller logs that Temporal refuses a call, and not that Temporal is away", async () => {
  const failing = async (isRetryable: boolean) => {
    const { lines } = start({ run: () => Promise.reject(new TemporalFailure("failed", isRetryable, undefined)) });
    await vi.advanceTimersByTimeAsync(0);
    return lines;
  };
  expect(await failing(false)).toEqual(["warn err poller"]);
  expect(await failing(true)).toEqual(["debug err poller"]);
});

it("work begun by a run occupies a place until it ends, and its end causes a run", async () => {
  const { run: work, finish } = heldRun();
  let runs = 0;
  const { poller } = start({
    run: async ({ begin }) => {
      if (++runs === 1) begin(work);
    },
  });
  await vi.advanceTimersByTimeAsync(0);
  expect([runs, poller.inFlight()]).toEqual([1, 1]);
  await finish();
  expect([runs, poller.inFlight()]).toEqual([2, 0]);
});

it("work that fails frees its place and is logged", async () => {
  let runs = 0;
  const { poller, lines } = start({
    run: async ({ begin }) => {
      if (++runs === 1) begin(() => Promise.reject(new Error("bad")));
    },
  });
  await vi.advanceTimersByTimeAsync(0);
  expect([runs, poller.inFlight(), lines]).toEqual([2, 0, ["error err poller"]]);
});

it("a drain aborts the signal of the run and waits for the run and for work in flight", async () => {
  const [run, work] = [heldRun(), heldRun()];
  let signal: AbortSignal | undefined;
  const { poller } = start({
    run: (context) => {
      signal = context.signal;
      context.begin(work.run);
      return run.run();
    },
  });
  let drained: boolean | undefined;
  void poller.drain(5_000).then((isDrained) => (drained = isDrained));
  expect(signal?.aborted).toBe(true);
  await run.finish();
  expect(drained).toBeUndefined();
  await work.finish();
  expect(drained).toBe(true);
  expect(run.ends).toHaveLength(1);
});

it("a drain ends after its grace period when a run hangs", async () => {
  const { poller, lines } = start({ run: () => new Promise(() => undefined) });
  const drained = poller.drain(5_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await drained).toBe(false);
  expect(lines).toEqual(["info poller inFlight"]);
});

it("a poller can be started again after its drain", async () => {
  let runs = 0;
  const { poller } = start({ run: async () => runs++ });
  await poller.drain(0);
  poller.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toBe(3);
});

it("the metrics of pollers count runs, failures and durations, and give the time of the last success", async () => {
  let failures = 1;
  const { poller, clock } = start({
    run: async ({ begin }) => {
      begin(() => new Promise(() => undefined));
      await new Promise((resolve) => setTimeout(resolve, 250));
      if (failures-- > 0) throw new Error("away");
    },
  });
  const idle = createPoller(pollerDeps, { ...declaration, name: "idle", run: async () => undefined });
  await vi.advanceTimersByTimeAsync(600);
  const metrics = createMetrics();
  exportPollers(metrics, [poller, idle]);
  const text = await metrics.text();
  for (const line of [
    'atrium_poller_runs_total{poller="test"} 2',
    'atrium_poller_failures_total{poller="test"} 1',
    'atrium_poller_run_seconds_total{poller="test"} 0.5',
    `atrium_poller_last_success_timestamp_seconds{poller="test"} ${clock.now() / 1_000}`,
    'atrium_poller_in_flight{poller="test"} 2',
    'atrium_poller_runs_total{poller="idle"} 0',
    'atrium_poller_last_success_timestamp_seconds{poller="idle"} 0',
  ])
    expect(text).toContain(`${line}\n`);
});
