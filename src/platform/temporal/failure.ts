import { ServiceError, isGrpcServiceError } from "@temporalio/client";

/** A call to Temporal that did not work. */
export class TemporalFailure extends Error {
  /** True when the same call may work later: the server is away, busy or shutting down. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, cause: unknown) {
    super(message, { cause });
    this.name = "TemporalFailure";
    this.retryable = retryable;
  }
}

/**
 * gRPC statuses that no repetition mends: the request itself is wrong or not allowed.
 * INVALID_ARGUMENT, ALREADY_EXISTS, PERMISSION_DENIED, OUT_OF_RANGE, UNIMPLEMENTED.
 */
const FINAL: ReadonlySet<number> = new Set([3, 6, 7, 11, 12]);

/** Names what went wrong in one line and tells whether it may pass. */
export function temporalFailure(what: string, error: unknown): TemporalFailure {
  const cause = error instanceof ServiceError && error.cause !== undefined ? error.cause : error;
  if (isGrpcServiceError(cause))
    return new TemporalFailure(`${what}: ${cause.details || cause.message}`, !FINAL.has(cause.code), error);
  // Not from the server: our arguments could not be encoded, for one.
  const message = error instanceof Error ? error.message : String(error);
  return new TemporalFailure(`${what}: ${message}`, false, error);
}
