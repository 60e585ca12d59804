import type { Call } from "../call.ts";
import type { Policy } from "../policy.ts";
import type { Authenticators } from "./authenticators.ts";
import { takesCredential, takesOptionalBearer, verifyCredential, verifyOptionalBearer } from "./credential.ts";
import type { Params } from "./params.ts";
import { runSteps } from "./step.ts";
import type { Step } from "./step.ts";

/** Age from which a verified credential is verified again, in milliseconds. Most messages arrive with their head. */
const MAX_AGE_MS = 10;

/**
 * Verifies the credential again when the message took long to arrive: one that was ended meanwhile is refused. `then`
 * are the steps that have already accepted the caller and now have to accept the renewed one.
 */
export function createRenewCredential(authenticators: Authenticators, then: readonly Step[]): Step {
  async function renew(policy: Policy, call: Call, params: Params): Promise<void> {
    call.caller = takesCredential(policy)
      ? await verifyCredential(authenticators, policy, call)
      : await verifyOptionalBearer(authenticators, call);
    await runSteps(then, policy, call, params);
  }

  return {
    name: "renew-credential",
    applies: (policy) => takesCredential(policy) || takesOptionalBearer(policy),
    run(policy, call, params) {
      if (call.caller === undefined || performance.now() - call.authenticatedAt <= MAX_AGE_MS) return undefined;
      return renew(policy, call, params);
    },
  };
}
