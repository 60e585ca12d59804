import type { Message } from "@bufbuild/protobuf";
import type { Caller } from "../../platform/caller.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { Call } from "../call.ts";
import type { Policy } from "../policy.ts";
import { recheckCredential, takesCredential } from "./credential.ts";
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
   * Returns the present caller of the credential of an open stream, undefined where the rpc takes none; counts against
   * no budget.
   * @throws {unauthorized} when the credential is no longer valid
   */
  recheck(policy: Policy, call: Call): Promise<Caller | undefined>;
  /**
   * Makes the present caller of the credential the caller of an open stream.
   * @throws {forbidden} when they have lost a right that the rpc needs
   */
  readmit(policy: Policy, call: Call, caller: Caller | undefined): void | Promise<void>;
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
    recheck: (policy, call) => recheckCredential(authenticators, policy, call),
    readmit(policy, call, caller) {
      // Who has not changed has the rights that were found before.
      if (caller === undefined || caller === call.caller) return undefined;
      call.caller = caller;
      const params = call.message === undefined ? NO_PARAMS : new MessageParams(call.message);
      return runSteps(stepsOf(policy).open, policy, call, params);
    },
  };
}
