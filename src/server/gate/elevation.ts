import { isServiceIdentity } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import { takesCredential } from "./credential.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

const NOT_A_PERSON = "This needs a person's elevated token, which no key and no service identity has; sign in.";

/** Refuses tokens that were not elevated by step-up, with 403 `step_up_required`. */
export const elevation: Step = {
  name: "elevation",
  applies: (policy) => policy.elevated && takesCredential(policy),
  run(policy, call) {
    const caller = callerOf(call);
    if (policy.ownIdentity && isServiceIdentity(caller)) return;
    if (caller.elevated) return;
    throw errors.stepUpRequired(caller.userUuid === null ? { message: NOT_A_PERSON } : {});
  },
};
