import type { Message } from "@bufbuild/protobuf";
import type { ServiceError } from "../../platform/errors.ts";
import type { Call } from "../call.ts";
import type { Policy } from "../policy.ts";
import { credentialHolds, takesCredential } from "./credential.ts";
import { createStepLists } from "./lists.ts";
import type { GateDeps, RpcSteps } from "./lists.ts";
import { MessageParams, NO_PARAMS, PathParams } from "./params.ts";
import { runSteps } from "./step.ts";

/** Decides who may call, in the order of decisions 1.7. The methods throw to refuse a call. */
export interface Gate {
  /** Runs the steps before the body where the path parameters are known, by their proto names. */
  beforeBody(policy: Policy, call: Call, pathParams: Readonly<Record<string, string>>): void | Promise<void>;
  /** Runs the steps before the message where only the headers are known. */
  beforeMessage(policy: Policy, call: Call): void | Promise<void>;
  /** Runs the steps that need the message, or need to be repeated after it was read. */
  afterBody(policy: Policy, call: Call, message: Message): void | Promise<void>;
  /** Returns the error that the caller of an unreadable message gets whatever it says; undefined if there is none. */
  refusal(policy: Policy, call: Call): ServiceError | undefined;
  /**
   * Checks that the credential of an open stream is still valid; counts against no budget.
   * @throws {unauthorized} when it is not
   */
  recheck(policy: Policy, call: Call): Promise<void>;
}

/** Creates the gate. The steps of each rpc are decided here, once. */
export function createGate(policies: Iterable<Policy>, deps: GateDeps): Gate {
  const { authenticators } = deps;
  const listSteps = createStepLists(deps);
  const steps = new Map<Policy, RpcSteps>();
  for (const policy of policies) steps.set(policy, listSteps(policy));

  function stepsOf(policy: Policy): RpcSteps {
    const found = steps.get(policy);
    if (found === undefined) throw new Error(`the gate has no steps for ${policy.rpc}`);
    return found;
  }

  return {
    beforeBody: (policy, call, pathParams) =>
      runSteps(stepsOf(policy).path.beforeBody, policy, call, new PathParams(pathParams)),
    beforeMessage: (policy, call) => runSteps(stepsOf(policy).message.beforeBody, policy, call, NO_PARAMS),
    afterBody(policy, call, message) {
      const { path, message: framed } = stepsOf(policy);
      const { afterBody } = call.protocol === "rest" ? path : framed;
      return runSteps(afterBody, policy, call, new MessageParams(message));
    },
    refusal(policy, call) {
      if (call.caller === undefined && takesCredential(policy)) return undefined;
      try {
        void runSteps(stepsOf(policy).unreadable, policy, call, NO_PARAMS);
        return undefined;
      } catch (error) {
        return error as ServiceError;
      }
    },
    recheck: (policy, call) => credentialHolds(authenticators, policy, call),
  };
}
