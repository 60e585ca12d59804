import { Code, ConnectError } from "./bundled/connect.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import type { ErrorCode } from "./error-code.ts";
import { retryAfterMsOf } from "./retry-after.ts";

/** One field of a request that broke a rule of the contract. */
export interface Violation {
  field: string;
  /** Which rule: `required`, `max_len`, … */
  code: string;
  message: string;
}

/** What an error is called when the service did not name it: the call did not reach it, or not in time. */
const byConnectCode: Partial<Record<Code, ErrorCode>> = {
  [Code.Canceled]: "canceled",
  [Code.DeadlineExceeded]: "deadline_exceeded",
  [Code.Unauthenticated]: "unauthorized",
  [Code.PermissionDenied]: "forbidden",
  [Code.NotFound]: "not_found",
  [Code.Unimplemented]: "unimplemented",
  [Code.Unavailable]: "unavailable",
  [Code.ResourceExhausted]: "rate_limited",
};

/** Whether `fetch` got no whole answer: it throws a TypeError then, of which Connect makes an unknown error. */
const isLost = ({ code, cause }: ConnectError): boolean =>
  code === Code.Unknown && cause instanceof Error && cause.name === "TypeError";

/**
 * Every failure of a call. It is a `ConnectError` with what the service says besides the code of the protocol. Its
 * `name` stays `ConnectError`, because `instanceof ConnectError` depends on it.
 */
export class AtriumError extends ConnectError {
  /** Code of the service, such as `step_up_required`; `unavailable` when the service was not reached. */
  readonly errorCode: ErrorCode;
  /** HTTP status of the error over REST; 0 when the service sent no error. */
  readonly status: number;
  /** Id under which the service logged the call. */
  readonly requestId: string | undefined;
  /** How long the service asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** Fields that broke a rule; empty unless the request was not valid. */
  readonly violations: readonly Violation[];

  constructor(failure: ConnectError, nowMs: number = Date.now()) {
    super(failure.rawMessage, failure.code, failure.metadata, undefined, failure.cause);
    this.details = failure.details;
    const [info] = failure.findDetails(ErrorInfoSchema);
    const { metadata } = failure;
    const code = isLost(failure) ? Code.Unavailable : failure.code;
    this.errorCode = info?.reason.toLowerCase() ?? byConnectCode[code] ?? "internal";
    this.status = Number(info?.metadata["http_status"] ?? 0);
    this.requestId = metadata.get("x-request-id") ?? undefined;
    this.retryAfterMs = retryAfterMsOf(metadata.get("retry-after"), nowMs);
    this.violations = failure.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ field, reason, description }) => ({
        field,
        code: reason.toLowerCase(),
        message: description,
      })),
    );
  }

  /** Returns an `AtriumError` as it is, and makes one of anything else. */
  static override from(reason: unknown, code?: Code): AtriumError {
    return isAtriumError(reason) ? reason : new AtriumError(ConnectError.from(reason, code));
  }

  // Several copies of the package may be loaded, as with ConnectError.
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "errorCode" in value && "violations" in value;
  }
}

/** Whether a value is an error of a call, and, where codes are given, one of these. */
export function isAtriumError<C extends ErrorCode>(
  value: unknown,
  ...codes: readonly C[]
): value is AtriumError & { readonly errorCode: C } {
  return value instanceof AtriumError && (codes.length === 0 || codes.some((code) => code === value.errorCode));
}
