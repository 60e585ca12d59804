import { isAway } from "../platform/db/failure.ts";
import { createPoller } from "../platform/poller.ts";
import type { Poller, PollerDeps } from "../platform/poller.ts";
import type { TidyTasks } from "../platform/tidy-task.ts";

/** Settings of {@link createTidyPoller}. */
export interface TidyPollerOptions extends PollerDeps {
  tasks: TidyTasks;
  /** Wait between runs, and before the first; default 10 minutes. */
  intervalMs?: number;
}

/**
 * A batch of fewer rows ends the task for this run: a task that keeps finding a few rows that have just ended would
 * otherwise never finish.
 */
const SMALL_BATCH = 20;

/** Runs the tidy tasks periodically: one batch of each in turn, until every task has little left. */
export function createTidyPoller({ tasks, intervalMs = 600_000, ...deps }: TidyPollerOptions): Poller {
  return createPoller(deps, {
    name: "tidy",
    intervalMs,
    firstRunMs: intervalMs,
    backOff: { firstMs: intervalMs, maxMs: intervalMs },
    run: ({ signal }) => runTasks(tasks, signal),
  });
}

/**
 * A task that fails does not stop the others.
 * @throws AggregateError after the last batch, when any task failed; `unavailable` when the database was away
 */
async function runTasks(tasks: TidyTasks, signal: AbortSignal): Promise<void> {
  const failures = new Map<string, unknown>();
  for (let left = Object.entries(tasks); left.length > 0 && !signal.aborted; ) {
    const unfinished: typeof left = [];
    for (const [name, task] of left) {
      if (signal.aborted) break;
      try {
        if ((await task()) >= SMALL_BATCH) unfinished.push([name, task]);
      } catch (error) {
        failures.set(name, error);
      }
    }
    left = unfinished;
  }
  const [first] = failures.values();
  // The loss of the database is logged once for the process, whatever fails without it.
  if (first instanceof Error && failures.values().every(isAway)) throw first;
  if (failures.size > 0)
    throw new AggregateError(failures.values(), `Tidy tasks failed: ${[...failures.keys()].join(", ")}.`);
}
