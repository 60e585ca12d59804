import type { DescMethod } from "@bufbuild/protobuf";
import { errors, ServiceError } from "../../platform/errors.ts";
import type { Precondition } from "../../platform/rpc.ts";
import type { Step } from "./step.ts";

/** Preconditions by rpc. */
export type Preconditions = ReadonlyMap<DescMethod, Precondition>;

/**
 * Evaluates the precondition of the domain and keeps its error in `call.preconditionError` for `domain-precondition`.
 * Protocols that know only the message evaluate it before the message is read, so that a message that cannot be read
 * gets the same refusal.
 */
export function createEvaluatePrecondition(preconditions: Preconditions): Step {
  return {
    name: "evaluate-precondition",
    applies: ({ method }) => preconditions.has(method),
    async run(policy, call) {
      try {
        await preconditions.get(policy.method)?.(call.caller);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        // A token that has just ended must not look like a lack of power: the client renews it on 401.
        call.preconditionError = call.info.invalidBearer === true ? errors.unauthorized() : error;
      }
    },
  };
}

/** Refuses the call when the precondition of the domain did not hold. */
export function createDomainPrecondition(preconditions: Preconditions): Step {
  return {
    name: "domain-precondition",
    applies: ({ method }) => preconditions.has(method),
    run(_policy, { preconditionError }) {
      if (preconditionError !== undefined) throw preconditionError;
    },
  };
}
