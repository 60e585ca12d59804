import { Code } from "./bundled/connect.ts";
import type { AtriumError } from "./errors.ts";

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5_000;
/** Whether the same request may succeed a moment later: it did not arrive, or the service was busy or away. */
export function isTransient(error: AtriumError): boolean {
  switch (error.code) {
    case Code.Unavailable:
    case Code.Aborted:
      // A conflict of versions stays one until the caller reads the new version.
      return error.errorCode !== "version_conflict" && error.status !== 502;
    case Code.ResourceExhausted:
      return error.status === 429 || error.status === 0;
    case Code.DeadlineExceeded:
      return error.status === 504;
    case Code.Unknown:
    case Code.Internal:
      // Broken connections and truncated bodies; the service's own errors have a status.
      return error.status === 0;
    default:
      return false;
  }
}

/**
 * How long to wait before the next attempt: full jitter, and at least as long as the service asked. Undefined when it
 * asked for too long.
 */
export function waitBefore(
  attempt: number,
  error: AtriumError,
  maxRetryAfterMs: number,
  longestWaitMs = LONGEST_WAIT_MS,
): number | undefined {
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs) return undefined;
  const longest = Math.min(longestWaitMs, FIRST_WAIT_MS * 2 ** attempt);
  return (retryAfterMs ?? 0) + Math.random() * longest;
}

/** Resolves after `ms`. @throws the signal's reason when it is aborted before */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
