import { setTimeout as sleep } from "node:timers/promises";

/** A part of the fault runs: prints its figures and resolves to the violations; empty is right. */
export type Scenario = (log: (line: string) => void) => Promise<string[]>;

/** Milliseconds below which this share of the times lies. */
export function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Median and 99th percentile of some times, as text. */
export function spreadOf(times: readonly number[]): string {
  const [p50, p99] = [Math.round(percentile(times, 0.5)), Math.round(percentile(times, 0.99))];
  return `p50 ${p50} ms, p99 ${p99} ms of ${times.length}`;
}

/** Runs all jobs, at most `lanes` at a time, one every `betweenMs` at the earliest. */
export async function inLanes(jobs: readonly (() => Promise<unknown>)[], lanes: number, betweenMs = 0): Promise<void> {
  const since = Date.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < jobs.length; at = next++) {
      if (betweenMs > 0) await sleep(Math.max(0, since + at * betweenMs - Date.now()));
      await jobs[at]?.();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Waits until `look` resolves to true; resolves to false after `withinMs`. */
export async function within(withinMs: number, look: () => Promise<boolean>): Promise<boolean> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(200)) if (await look()) return true;
  return false;
}
