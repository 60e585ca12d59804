import { isServiceIdentity } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import type { Policy } from "../policy.ts";
import { takesCredential } from "./credential.ts";
import { callerOf } from "./step.ts";
import type { Step } from "./step.ts";

/** Refuses API keys and automation tokens whose scopes do not include the rpc. */
export const scope: Step = {
  name: "scope",
  applies: (policy) => policy.scope !== "" && takesCredential(policy),
  run(policy, call) {
    const caller = callerOf(call);
    if (policy.ownIdentity && isServiceIdentity(caller)) return;
    const { scopes } = caller;
    if (scopes !== null && !includes(scopes, policy))
      throw errors.forbidden({ message: `This credential lacks the scope ${policy.scope}.` });
  },
};

function includes(scopes: ReadonlySet<string>, policy: Policy): boolean {
  return scopes.has(policy.scope) || scopes.has("admin");
}
