import type { Caller } from "../../platform/caller.ts";
import type { Call } from "../call.ts";
import type { Policy } from "../policy.ts";
import type { Params } from "./params.ts";

/** One check of the gate, or one fact it establishes. */
export interface Step {
  /** As in a list of steps that a person reads. */
  readonly name: string;
  /** Whether an rpc has this step. Called once per rpc, when the server starts. */
  applies(policy: Policy): boolean;
  /** Throws to refuse the call. Returns a promise only when it has to wait. */
  run(policy: Policy, call: Call, params: Params): void | Promise<void>;
}

/** Runs steps in order, synchronously as long as no step returns a promise. */
export function runSteps(steps: readonly Step[], policy: Policy, call: Call, params: Params): void | Promise<void> {
  for (let at = 0; at < steps.length; at++) {
    const pending = (steps[at] as Step).run(policy, call, params);
    if (pending !== undefined)
      return at + 1 === steps.length ? pending : runRest(pending, steps, at + 1, policy, call, params);
  }
}

async function runRest(
  pending: Promise<void>,
  steps: readonly Step[],
  from: number,
  policy: Policy,
  call: Call,
  params: Params,
): Promise<void> {
  await pending;
  for (let at = from; at < steps.length; at++) {
    const next = (steps[at] as Step).run(policy, call, params);
    if (next !== undefined) await next;
  }
}

/** Returns the caller of a call, for steps that run after `authenticate`. */
export function callerOf({ caller }: Call): Caller {
  if (caller === undefined) throw new Error("this step runs only after a step that authenticates the caller");
  return caller;
}
