import { errors } from "../platform/errors.ts";
import type { ServiceError } from "../platform/errors.ts";

/** The error of requests that a draining server refuses, and of the streams that it ends. */
export function shuttingDown(): ServiceError {
  return errors.unavailable({ message: "The service is shutting down; try again.", retryAfter: 1 });
}

/** Calls `end` with {@link shuttingDown} when the server begins to drain. @returns a function that stops waiting */
export function endWhenDraining(draining: AbortSignal, end: (reason: unknown) => void): () => void {
  const onDrain = (): void => end(shuttingDown());
  if (draining.aborted) onDrain();
  else draining.addEventListener("abort", onDrain);
  return () => draining.removeEventListener("abort", onDrain);
}
