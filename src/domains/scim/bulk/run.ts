import type { Step, StepKind } from "./plan.ts";

/** Maximum number of transactions at the same time; fewer than an organization's share of connections. */
const CONCURRENCY = 4;
/** Maximum number of users that are created together. */
const TOGETHER = 50;

/**
 * Kinds of steps that a step waits for when they come before it: the result must be the one of the order given
 * (RFC 7644 §3.7). A group runs alone, after everything before it.
 */
const AFTER: Readonly<Record<StepKind, readonly StepKind[]>> = {
  create: ["change"],
  change: ["create", "change", "group"],
  describe: [],
  group: [],
};

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
 * Carries out steps in an order in which references are resolved, with the result of the order given wherever that
 * order resolves them. Creates of users run together, and beside changes of other users that take no name or address.
 */
export async function carryOut({ steps, oneByOne, run, circular, stopped }: Schedule): Promise<void> {
  const pending = new Set(steps);
  const running = new Map<readonly Step[], Promise<void>>();
  const open = new Map<string, number>();
  for (const { defines } of steps) if (defines !== undefined) open.set(defines, (open.get(defines) ?? 0) + 1);
  const displaced = displacedAmong(steps, open);

  const close = ({ defines }: Step): void => {
    if (defines !== undefined) open.set(defines, (open.get(defines) ?? 1) - 1);
  };
  const waits = ({ references, fault }: Step): boolean =>
    fault === undefined && [...references].some((id) => (open.get(id) ?? 0) > 0);

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
    // Of the steps that run, and of the pending ones before the present one.
    const [keys, kinds] = [new Set<string>(), new Set<StepKind>()];
    const add = (step: Step): void => {
      for (const key of step.keys) keys.add(key);
      kinds.add(step.kind);
    };
    [...running.keys()].flat().forEach(add);
    if (kinds.has("group")) return;
    const most = oneByOne ? 1 : CONCURRENCY;
    let creates: Step[] = [];
    const startCreates = (): void => {
      if (creates.length > 0) start(creates);
      creates = [];
    };
    for (const step of pending) {
      if (running.size >= most) return;
      const isWaiting = waits(step);
      if (isWaiting && displaced.has(step)) continue;
      if (step.kind === "group" && !isWaiting) {
        startCreates();
        if (running.size === 0) start([step]);
        return;
      }
      if (!isWaiting && !step.keys.some((key) => keys.has(key)) && !AFTER[step.kind].some((kind) => kinds.has(kind))) {
        if (isBatchable(step) && !oneByOne) creates.push(step);
        else start([step]);
      }
      add(step);
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

/**
 * The steps that cannot run in the order given: they refer to one that comes later or is displaced itself. Until their
 * references are resolved, later steps do not wait for them. `defined` has the number of steps that define a bulkId.
 */
function displacedAmong(steps: readonly Step[], defined: ReadonlyMap<string, number>): ReadonlySet<Step> {
  const displaced = new Set<Step>();
  const before = new Map<string, number>();
  for (const step of steps) {
    const { references, defines, fault } = step;
    if (fault === undefined && [...references].some((id) => (before.get(id) ?? 0) < (defined.get(id) ?? 0)))
      displaced.add(step);
    else if (defines !== undefined) before.set(defines, (before.get(defines) ?? 0) + 1);
  }
  return displaced;
}

function isBatchable({ kind, references }: Step): boolean {
  return kind === "create" && references.size === 0;
}
