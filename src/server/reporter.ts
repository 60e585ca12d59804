import type { ServiceError } from "../platform/errors.ts";
import { withoutStack } from "../platform/log.ts";
import type { Log } from "../platform/log.ts";
import { serviceError } from "./boundary.ts";
import type { Call } from "./call.ts";

/** Maps the error of a call to the one that is sent, stores its code on the call, and logs private detail. */
export type Fail = (reason: unknown, call: Call) => ServiceError;

/** Minimum time between two warnings for the same reason, milliseconds: an outage refuses every request. */
const WARNING_INTERVAL_MS = 10_000;
/** Reasons that are remembered; some name a relation or an address. */
const MAX_REASONS = 100;

/** Creates the one function that maps and logs errors. */
export function createReporter(log: Log): Fail {
  const refusals = createRefusalLog(log);
  return (reason, call) => {
    const error = serviceError(reason, call.policy);
    call.errorCode = error.code;
    call.status = error.status;
    if (error.status >= 500 && error.status !== 501 && error.status !== 504) {
      // Not named `code`, which the log redacts because of one-time codes.
      const facts = { request_id: call.info.requestId, rpc: call.policy?.rpc, error: error.code };
      if (error.status === 500) log.error({ ...facts, err: error.cause ?? error }, "request failed");
      else refusals(facts, error);
    }
    return error;
  };
}

/**
 * Logs requests that cannot be served now: one warning for each reason and interval, with the number of those left out.
 * Those are logged at level `debug`, and every request has its line besides.
 */
function createRefusalLog(log: Log): (facts: object, error: ServiceError) => void {
  const last = new Map<string, { at: number; leftOut: number }>();
  return (facts, error) => {
    const { cause, status } = error;
    // Without a cause it is the service itself that refuses, such as while it stops, and the stack says nothing.
    const err = status === 503 ? withoutStack(cause) : cause;
    const [text, line] =
      cause === undefined
        ? (["request refused", { ...facts, reason: error.message }] as const)
        : (["request refused: a dependency is unavailable", { ...facts, err }] as const);
    const key = `${error.code} ${cause instanceof Error ? cause.message : error.message}`;
    const now = performance.now();
    const before = last.get(key);
    if (before !== undefined && now - before.at < WARNING_INTERVAL_MS) {
      before.leftOut++;
      return log.debug(line, text);
    }
    if (last.size >= MAX_REASONS) last.clear();
    last.set(key, { at: now, leftOut: 0 });
    return log.warn({ ...line, ...(before !== undefined && { left_out: before.leftOut }) }, text);
  };
}
