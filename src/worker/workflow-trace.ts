import type { Headers, WorkflowInterceptors } from "@temporalio/workflow";

/** Same value as `traceHeader` of the client, which cannot be imported: only workflow code may be imported here. */
const traceHeader = "traceparent";

/**
 * Workflow interceptors, part of the bundle: they pass the trace of the start, or of the latest signal that carries
 * one, to every activity. Headers come from history and are not compared at replay, so this is deterministic.
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
