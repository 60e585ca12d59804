import { defaultPayloadConverter } from "@temporalio/common";
import type { Headers } from "@temporalio/common";
import type { WorkflowClientInterceptor } from "@temporalio/client";
import { currentTraceparent, withSpan } from "../tracing.ts";

/**
 * Header of workflows, signals and activities with the trace (W3C Trace Context). Workflows forward it unread.
 */
const traceHeader = "traceparent";

/** Returns the trace in the headers; undefined when it is missing or invalid. */
export function traceparentOf(headers: Headers): string | undefined {
  const payload = headers[traceHeader];
  if (payload === undefined) return undefined;
  const value: unknown = defaultPayloadConverter.fromPayload(payload);
  return typeof value === "string" ? value : undefined;
}

/** Records calls to Temporal as spans, which workflows and their activities continue. */
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
