import { defaultPayloadConverter } from "@temporalio/common";
import type { Headers } from "@temporalio/common";
import type { WorkflowClientInterceptor } from "@temporalio/client";
import { currentTraceparent, withSpan } from "../tracing.ts";

/**
 * Header of workflows, signals and activities that carries the trace (W3C Trace Context). The workflow hands it on
 * unread.
 */
export const traceHeader = "traceparent";

/** The trace a header tells of; undefined when it has none, or nonsense. */
export function traceparentOf(headers: Headers): string | undefined {
  const payload = headers[traceHeader];
  if (payload === undefined) return undefined;
  const value: unknown = defaultPayloadConverter.fromPayload(payload);
  return typeof value === "string" ? value : undefined;
}

/** Calls to Temporal as spans, which workflows and their activities continue. */
export const clientTrace: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => withSpan(`start ${input.workflowType}`, () => next(withTrace(input))),
  signalWithStart: (input, next) => withSpan(`start ${input.workflowType}`, () => next(withTrace(input))),
};

function withTrace<I extends { readonly headers: Headers }>(input: I): I {
  const traceparent = currentTraceparent();
  return traceparent === undefined
    ? input
    : { ...input, headers: { ...input.headers, [traceHeader]: defaultPayloadConverter.toPayload(traceparent) } };
}
