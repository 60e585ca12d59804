import type { ConnectError } from "@connectrpc/connect";
import { errorCode, errorEntries } from "./error-codes/index.ts";
import type { ERROR_CODES, ErrorCode } from "./error-codes/index.ts";

/**
 * One error of the contract: HTTP status, a code that the catalogue allows with it, and a message that says what to do.
 * `duplicate` marks a conflict with a resource that exists already, which has its own gRPC status (decisions 15.3).
 */
export type ErrorRow = {
  [C in ErrorCode]: readonly [
    status: (typeof ERROR_CODES)[C]["status"][number],
    code: C,
    message: string,
    kind?: "duplicate",
  ];
}[ErrorCode];

/**
 * A row with a code that an option of the contract names.
 * @throws Error when the catalogue has no such code with this status, which stops the start
 */
export function errorRow(status: number, code: string, message: string): ErrorRow {
  if (errorEntries.get(errorCode(code))?.status.includes(status) !== true)
    throw new Error(`names the error code ${code}, which is not sent with status ${status}`);
  return [status, code, message] as unknown as ErrorRow;
}

/** A request field that broke a rule. */
export interface FieldViolation {
  /** Path in the request, with the names of the wire: `emails[0].value`. */
  field: string;
  /** What is wrong, in one word: `required`, `too_long`, `pattern`, … */
  code: string;
  /** What is wrong, for a person. */
  message: string;
}

/** Details of one error besides its row. */
export interface ErrorOptions {
  /** Replaces the row's message. */
  message?: string | undefined;
  /** Invalid fields, for validation errors. */
  fields?: FieldViolation[] | undefined;
  /** Seconds until a retry is useful; sent as `Retry-After`, rounded up. */
  retryAfter?: number | undefined;
  /** Further response headers. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent over REST in place of the error object. */
  document?: object | undefined;
  /**
   * Sent over Connect, gRPC and gRPC-Web in place of the code, message and details of the contract. Domains have no use
   * for it: the conformance suite asks handlers for errors of its own, which no row describes, and every protocol gets
   * its error from this class alone.
   */
  connect?: ConnectError | undefined;
  /** Detail keyword of SCIM (RFC 7644 §3.12). */
  scimType?: string | undefined;
  /** Private cause: logged, never sent. */
  cause?: unknown;
}

/** An error with a documented status and code. Any other thrown value becomes `internal`. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  /** Whether the resource to create exists already. */
  readonly duplicate: boolean;
  readonly fields: FieldViolation[] | undefined;
  readonly retryAfter: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly document: object | undefined;
  readonly connect: ConnectError | undefined;
  readonly scimType: string | undefined;

  constructor([status, code, message, kind]: ErrorRow, options: ErrorOptions = {}) {
    super(options.message ?? message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ServiceError";
    this.status = status;
    this.code = code;
    this.duplicate = kind === "duplicate";
    this.fields = options.fields;
    this.retryAfter = options.retryAfter;
    this.headers = options.headers;
    this.document = options.document;
    this.connect = options.connect;
    this.scimType = options.scimType;
  }
}

/** Converts rows to functions that create the errors: `throw stepUpErrors.gone()`. */
export function defineErrors<const R extends Record<string, ErrorRow>>(
  rows: R,
): { readonly [K in keyof R]: (options?: ErrorOptions) => ServiceError } {
  const factories = Object.entries(rows).map(([name, row]) => [
    name,
    (options?: ErrorOptions) => new ServiceError(row, options),
  ]);
  return Object.fromEntries(factories) as { readonly [K in keyof R]: (options?: ErrorOptions) => ServiceError };
}

const commonErrors = defineErrors({
  badRequest: [400, "bad_request", "The request cannot be read."],
  validation: [400, "validation_error", "The request has fields that are missing or wrong; see errors."],
  invalidUuid: [400, "invalid_uuid", "An id in the path is not a UUID."],
  unauthorized: [401, "unauthorized", "A valid credential is required; sign in and send it as Authorization: Bearer."],
  forbidden: [403, "forbidden", "The caller lacks the power to do this."],
  stepUpRequired: [
    403,
    "step_up_required",
    "This needs an elevated token; complete a step-up challenge and send the elevated token.",
  ],
  notFound: [404, "not_found", "No such resource."],
  noRoute: [404, "not_found", "no such route"],
  methodNotAllowed: [405, "method_not_allowed", "The method is not allowed here; see Allow."],
  notAcceptable: [406, "not_acceptable", "None of the media types in Accept can be served."],
  conflict: [409, "conflict", "The request conflicts with the present state."],
  payloadTooLarge: [413, "payload_too_large", "The body is larger than allowed."],
  unsupportedMediaType: [415, "unsupported_media_type", "The content type is not taken here."],
  unprocessable: [422, "unprocessable", "The request is well formed but cannot be carried out."],
  idempotencyMismatch: [422, "idempotency_mismatch", "This Idempotency-Key was used with another request."],
  rateLimited: [429, "rate_limited", "Too many requests; wait and try again."],
  internal: [500, "internal", "An internal error occurred; the request id identifies it."],
  unimplemented: [501, "unimplemented", "This operation is not built yet."],
  unavailable: [503, "unavailable", "The service cannot do this now; try again."],
  deadlineExceeded: [504, "deadline_exceeded", "The deadline passed before the operation was done."],
});

/** Errors that are common to all areas (decisions 1.6). The message of a 403 names the power that is missing. */
export const errors: Omit<typeof commonErrors, "forbidden"> & {
  forbidden(options: ErrorOptions & { message: string }): ServiceError;
} = commonErrors;
