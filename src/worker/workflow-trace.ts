import type { Headers, WorkflowInterceptors } from "@temporalio/workflow";

/** As `traceHeader` of the client; nothing but workflow code may be imported here. */
const traceHeader = "traceparent";

/**
 * Part of the workflow bundle: hands the trace of the start, or of the latest signal that carries one, to every
 * activity. Headers come from history and are not compared at replay, so this is as deterministic as the workflow
 * itself.
 */
export function interceptors(): WorkflowInterceptors {
  let trace: Headers[string] | undefined;
  const take = (headers: Headers): void => {
    trace = headers[traceHeader] ?? trace;
  };
  const give = <I extends { readonly headers: Headers }>(input: I): I =>
    trace === undefined ? input : { ...input, headers: { ...input.headers, [traceHeader]: trace } };
  return {
    inbound: [
      {
        execute(input, next) {
          take(input.headers);
          return next(input);
        },
        handleSignal(input, next) {
          take(input.headers);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(give(input)),
        scheduleLocalActivity: (input, next) => next(give(input)),
        continueAsNew: (input, next) => next(give(input)),
      },
    ],
  };
}
