import type { Step } from "./plan.ts";

/** Maximum number of transactions at the same time; fewer than an organization's share of connections. */
const CONCURRENCY = 4;
/** Maximum number of users that are created together. */
const TOGETHER = 50;

/** How a schedule carries out steps. */
export interface Schedule {
  steps: readonly Step[];
  /** One at a time, in the order given as far as references allow. */
  oneByOne: boolean;
  /** Carries out one step, or several that create users. Never rejects. */
  run(steps: readonly Step[]): Promise<void>;
  /** Ends a step whose references form a circle. */
  circular(step: Step): void;
  /** Whether the rest is not tried. */
  stopped(): boolean;
}

/**
 * Carries out steps in an order in which references are resolved. Steps about different users run at the same time,
 * and their creates together; one about a group runs alone, after those before it.
 */
export async function carryOut({ steps, oneByOne, run, circular, stopped }: Schedule): Promise<void> {
  const pending = new Set(steps);
  const running = new Map<readonly Step[], Promise<void>>();
  const open = new Map<string, number>();
  for (const { defines } of steps) if (defines !== undefined) open.set(defines, (open.get(defines) ?? 0) + 1);

  const close = ({ defines }: Step): void => {
    if (defines !== undefined) open.set(defines, (open.get(defines) ?? 1) - 1);
  };
  const waits = ({ references }: Step): boolean => [...references].some((id) => (open.get(id) ?? 0) > 0);

  function start(together: readonly Step[]): void {
    for (const step of together) pending.delete(step);
    const ended = run(together).then(() => {
      running.delete(together);
      together.forEach(close);
    });
    running.set(together, ended);
  }

  /** Starts what can run now, in order. */
  function startReady(): void {
    const busy = new Set([...running.keys()].flat().map(({ key }) => key));
    if ([...running.keys()].flat().some(({ of }) => of === "Groups")) return;
    const most = oneByOne ? 1 : CONCURRENCY;
    let creates: Step[] = [];
    const startCreates = (): void => {
      if (creates.length > 0) start(creates);
      creates = [];
    };
    for (const step of pending) {
      if (running.size >= most) return;
      if (step.fault === undefined && waits(step)) continue;
      if (step.of === "Groups") {
        startCreates();
        if (running.size === 0) start([step]);
        return;
      }
      if (!busy.has(step.key)) {
        if (isCreate(step) && !oneByOne) creates.push(step);
        else start([step]);
      }
      busy.add(step.key);
      if (creates.length >= TOGETHER) startCreates();
    }
    if (running.size < most) startCreates();
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

function isCreate({ of, method, fault, references }: Step): boolean {
  return of === "Users" && method === "POST" && fault === undefined && references.size === 0;
}
