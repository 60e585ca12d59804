import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { StepUpService } from "../../../gen/atrium/step_up/v1/step_up_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { StepUp } from "./step-up.ts";
import type { StepUpMethod } from "./store.ts";

/** `atrium.step_up.v1.StepUpService`. */
export function stepUpRpc(stepUp: StepUp, contexts: RequestContexts): ServiceRegistration {
  return registration(StepUpService, {
    createChallenge: async ({ method }, context) => {
      // The field rules of the contract admit only these methods.
      const issued = await stepUp.challenge(contexts.authenticated(context), method as StepUpMethod);
      return { ...issued, expiresAt: timestampFromDate(issued.expiresAt) };
    },
    verifyChallenge: async (request, context) => stepUp.verify(contexts.authenticated(context), request),
    getStepUpStatus: async (_request, context) => {
      const { elevated, expiresAt } = stepUp.status(contexts.authenticated(context));
      return { elevated, ...(expiresAt === undefined ? {} : { expiresAt: timestampFromDate(expiresAt) }) };
    },
  } satisfies ServiceImpl<typeof StepUpService>);
}
