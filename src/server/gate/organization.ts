import { errors } from "../../platform/errors.ts";
import { takesCredential } from "./credential.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

/** Refuses tokens without an organization (decisions 3.1). */
export const organization: Step = {
  name: "organization",
  applies: (policy) => !policy.withoutOrg && takesCredential(policy),
  run(_policy, call) {
    if (callerOf(call).orgUuid === null)
      throw errors.forbidden({ message: "This token names no organization; sign in to one." });
  },
};
