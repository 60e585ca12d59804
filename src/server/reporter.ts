import type { ServiceError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { serviceError } from "./boundary.ts";
import type { Call } from "./call.ts";

/** Maps the error of a call to the one that is sent, stores its code on the call, and logs private detail. */
export type Fail = (reason: unknown, call: Call) => ServiceError;

/** Creates the one function that maps and logs errors. */
export function createReporter(log: Log): Fail {
  return (reason, call) => {
    const error = serviceError(reason, call.policy);
    call.errorCode = error.code;
    call.status = error.status;
    if (error.status >= 500 && error.status !== 501 && error.status !== 504) {
      // Not named `code`, which the log redacts because of one-time codes.
      const facts = {
        request_id: call.info.requestId,
        rpc: call.policy?.rpc,
        error: error.code,
        err: error.cause ?? error,
      };
      if (error.status === 500) log.error(facts, "request failed");
      else log.warn(facts, "request refused: a dependency is unavailable");
    }
    return error;
  };
}
