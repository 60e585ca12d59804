import type { ServiceError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { serviceError } from "./boundary.ts";
import type { Call } from "./call.ts";

/** Turns whatever ended a call into the error that is sent, notes its code, and logs what a caller must not see. */
export type Fail = (reason: unknown, call: Call) => ServiceError;

/** Builds the one place where errors are mapped and logged. */
export function createReporter(log: Log): Fail {
  return (reason, call) => {
    const error = serviceError(reason, call.policy);
    call.errorCode = error.code;
    call.status = error.status;
    if (error.status >= 500 && error.status !== 501 && error.status !== 504) {
      // Not as `code`, which is redacted: one-time codes have that name.
      const facts = {
        request_id: call.info.requestId,
        rpc: call.policy?.rpc,
        error: error.code,
        err: error.cause ?? error,
      };
      if (error.status === 500) log.error(facts, "request failed");
      else log.warn(facts, "request refused: something it needs is away");
    }
    return error;
  };
}
