import { objectOf } from "./json.ts";

/** Statuses of requests that may succeed when they are repeated: a time-out, a conflict with another one, a limit. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 429]);
/** Codes of Paddle for these. */
const PASSING_CODES: ReadonlySet<unknown> = new Set(["too_many_requests", "concurrent_transaction_update"]);

/**
 * Whether a provider has understood a call and refused it, so that repeating it does not help. The errors are not told
 * by their classes, since these are of SDKs that are loaded with the first call.
 */
export function isRefusal(error: unknown): boolean {
  const { statusCode: status, type, code } = objectOf(error);
  if (typeof status === "number") return status >= 400 && status < 500 && !PASSING.has(status);
  // Errors of Paddle have no status.
  return type === "request_error" && !PASSING_CODES.has(code);
}
