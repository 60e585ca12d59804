import { ServiceError, isGrpcServiceError } from "@temporalio/client";

/** A failed call to Temporal. */
export class TemporalFailure extends Error {
  /** Whether a retry may succeed: the server is unavailable, busy or shutting down. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, cause: unknown) {
    super(message, { cause });
    this.name = "TemporalFailure";
    this.retryable = retryable;
  }
}

/**
 * gRPC statuses for which a retry is useless: the request itself is wrong or not allowed.
 * INVALID_ARGUMENT, ALREADY_EXISTS, PERMISSION_DENIED, OUT_OF_RANGE, UNIMPLEMENTED.
 */
const FINAL: ReadonlySet<number> = new Set([3, 6, 7, 11, 12]);

/** Describes an error in one line and determines whether a retry may succeed. */
export function temporalFailure(what: string, error: unknown): TemporalFailure {
  const cause = error instanceof ServiceError && error.cause !== undefined ? error.cause : error;
  if (isGrpcServiceError(cause))
    return new TemporalFailure(`${what}: ${cause.details || cause.message}`, !FINAL.has(cause.code), error);
  // Not from the server; for example, arguments could not be encoded.
  const message = error instanceof Error ? error.message : String(error);
  return new TemporalFailure(`${what}: ${message}`, false, error);
}
