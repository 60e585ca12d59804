import { Code } from "@connectrpc/connect";
import { AtriumError } from "../../clients/typescript/index.ts";

/** An error of the service in the words of the contract. */
export interface Failure {
  /** Code of the contract, such as `step_up_required`; `offline` when the service did not answer. */
  code: string;
  message: string;
  requestId: string | undefined;
  /** Seconds of `Retry-After`. */
  retryAfter: number | undefined;
  /** Violations by field name, as the contract writes it. */
  fields: Readonly<Record<string, string>>;
}

const OFFLINE = "The service did not answer. Check the connection and try again.";

/** Errors that are not the service's own: it was not reached, or not in time. */
const UNANSWERED: ReadonlySet<Code> = new Set([Code.Unknown, Code.Unavailable, Code.DeadlineExceeded]);

/** Reads what an rpc threw. */
export function failureOf(thrown: unknown): Failure {
  const error = AtriumError.from(thrown);
  const fields: Record<string, string> = {};
  for (const { field, message } of error.violations) fields[field] ??= message;
  const unanswered = error.status === 0 && UNANSWERED.has(error.code);
  return {
    code: unanswered ? "offline" : error.errorCode,
    message: unanswered ? OFFLINE : error.rawMessage,
    requestId: error.requestId,
    retryAfter: error.retryAfterMs === undefined ? undefined : Math.ceil(error.retryAfterMs / 1_000),
    fields,
  };
}

/** A refusal of the console itself: saving would undo what somebody else has changed since the page was read. */
export const changedMeanwhile = (thing: string, remedy = "close the dialog and open it again"): Failure => ({
  code: "conflict",
  message: `Somebody else changed this ${thing} meanwhile. Nothing is saved: ${remedy}.`,
  requestId: undefined,
  retryAfter: undefined,
  fields: {},
});
