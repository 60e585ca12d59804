import { OperatorService } from "../../../gen/atrium/operator/v1/operator_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import { createOperator } from "./operator.ts";
import type { ProcessState } from "./readiness.ts";
import { operatorRpc } from "./rpc.ts";

/** What the operator of the installation sees and sets. */
export const operatorDomain = defineDomain(
  "operator",
  ({
    eventCatalogue: events,
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; organizations: Organizations }) => {
    const operator = createOperator({ ...below, events });
    return {
      ...operator,
      /** The service, over the state of the process that serves it. */
      serviceOf: (state: ProcessState) => registration(OperatorService, operatorRpc(operator, state, contexts)),
    };
  },
);
