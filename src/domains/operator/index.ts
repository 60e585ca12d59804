export { operatorDomain } from "./domain.ts";
export { createOperator } from "./operator.ts";
export type { Operator, OperatorDeps } from "./operator.ts";
export { isReady } from "./readiness.ts";
export type { ProcessState, ReadinessReport } from "./readiness.ts";
export { operatorRpc } from "./rpc.ts";
