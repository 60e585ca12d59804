import { personRequired } from "../../platform/caller.ts";
import { takesCredential } from "./credential.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

/** Refuses API keys and automation tokens on rpcs for persons only. */
export const personOnly: Step = {
  name: "person-only",
  applies: (policy) => policy.personOnly && takesCredential(policy),
  run(_policy, call) {
    if (callerOf(call).principal.type !== "user") throw personRequired();
  },
};
