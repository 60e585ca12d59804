import type { Step } from "./plan.ts";

/** Maximum number of operations at the same time; fewer than an organization's share of connections. */
const CONCURRENCY = 4;

/** How a schedule carries out steps. */
export interface Schedule {
  steps: readonly Step[];
  /** One at a time, in the order given as far as references allow. */
  oneByOne: boolean;
  /** Carries out a step. Never rejects. */
  run(step: Step): Promise<void>;
  /** Ends a step whose references form a circle. */
  circular(step: Step): void;
  /** Whether the rest is not tried. */
  stopped(): boolean;
}

/**
 * Carries out steps in an order in which references are resolved. Steps about different users run at the same time;
 * one about a group runs alone, after those before it.
 */
export async function carryOut({ steps, oneByOne, run, circular, stopped }: Schedule): Promise<void> {
  const pending = new Set(steps);
  const running = new Map<Step, Promise<void>>();
  const open = new Map<string, number>();
  for (const { defines } of steps) if (defines !== undefined) open.set(defines, (open.get(defines) ?? 0) + 1);

  const close = ({ defines }: Step): void => {
    if (defines !== undefined) open.set(defines, (open.get(defines) ?? 1) - 1);
  };
  const waits = ({ references }: Step): boolean => [...references].some((id) => (open.get(id) ?? 0) > 0);

  function start(step: Step): void {
    pending.delete(step);
    const ended = run(step).then(() => {
      running.delete(step);
      close(step);
    });
    running.set(step, ended);
  }

  /** Starts what can run now, in order. */
  function startReady(): void {
    const busy = new Set([...running.keys()].map(({ key }) => key));
    if ([...running.keys()].some(({ of }) => of === "Groups")) return;
    for (const step of pending) {
      if (running.size >= (oneByOne ? 1 : CONCURRENCY)) return;
      if (step.fault === undefined && waits(step)) continue;
      if (step.of === "Groups") {
        if (running.size === 0) start(step);
        return;
      }
      if (!busy.has(step.key)) start(step);
      busy.add(step.key);
    }
  }

  while (pending.size > 0 && !stopped()) {
    startReady();
    if (running.size > 0) await Promise.race(running.values());
    else {
      const [first] = pending;
      if (first === undefined) break;
      pending.delete(first);
      circular(first);
      close(first);
    }
  }
  await Promise.all(running.values());
}
