import { FieldError } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError } from "@connectrpc/connect";
import { mapFailure } from "../platform/db/failure.ts";
import { errors, ServiceError } from "../platform/errors.ts";
import type { ErrorRow } from "../platform/errors.ts";
import { describeViolations, Refusal } from "../transcoding/index.ts";
import { withBounds } from "./bounds.ts";
import { isUnknownCompression, isUnreadableMessage } from "./patches/connect-error-messages.ts";
import type { Policy } from "./policy.ts";
import { internalCodeOf } from "./rpc-errors.ts";

/** For logs and metrics only: the client has disconnected. */
const canceled: ErrorRow = [499, "canceled", "The client ended the call."];

function internal(cause: unknown, policy: Policy | undefined): ServiceError {
  const error = errors.internal({ cause });
  return new ServiceError([500, internalCodeOf(policy), error.message], { cause });
}

/** Maps any thrown value to an error of the contract. Unknown values become `internal`, with the cause for the log. */
export function serviceError(reason: unknown, policy: Policy | undefined): ServiceError {
  if (reason instanceof ServiceError) return reason;
  if (reason instanceof Refusal) return ofRefusal(reason, policy);
  if (reason instanceof ConnectError) return ofConnect(reason, policy);
  const mapped = mapFailure(reason);
  if (mapped instanceof ServiceError) return mapped;
  const { name } = reason as { name?: unknown };
  if (name === "AbortError") return new ServiceError(canceled, { cause: reason });
  if (name === "TimeoutError") return errors.deadlineExceeded({ cause: reason });
  return internal(reason, policy);
}

const refusals: Record<Refusal["kind"], ErrorRow> = {
  method_not_allowed: [405, "method_not_allowed", ""],
  not_acceptable: [406, "not_acceptable", ""],
  payload_too_large: [413, "payload_too_large", ""],
  unsupported_media_type: [415, "unsupported_media_type", ""],
  malformed_path: [400, "validation_error", ""],
  malformed_header: [400, "bad_request", ""],
  malformed_body: [400, "bad_request", ""],
  invalid_path: [400, "validation_error", ""],
  invalid_query: [400, "validation_error", ""],
  invalid_body: [400, "validation_error", ""],
  deadline_exceeded: [504, "deadline_exceeded", ""],
  canceled,
};

function ofRefusal(refusal: Refusal, policy: Policy | undefined): ServiceError {
  let row = refusals[refusal.kind];
  if (refusal.kind === "invalid_body" && policy !== undefined) row = policy.invalidRow;
  const fields = refusal.violations.length === 0 ? undefined : withBounds(refusal.violations, policy?.method.input);
  if (
    refusal.kind === "invalid_path" &&
    policy?.pathFields.some((path) => path.uuid && fields?.some(({ field }) => field === path.name)) === true
  ) {
    row = [400, "invalid_uuid", ""];
  }
  const message = fields === undefined ? refusal.rawMessage : describeViolations(fields);
  return new ServiceError(row, { message, fields, headers: refusal.headers, cause: refusal });
}

/** Maps an error of connect itself: an unreadable message, a violation of the protocol, or a passed deadline. */
function ofConnect(error: ConnectError, policy: Policy | undefined): ServiceError {
  const { rawMessage: message } = error;
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.DataLoss:
      return undecodable(error, policy);
    case Code.DeadlineExceeded:
      return errors.deadlineExceeded({ cause: error });
    case Code.Canceled:
    case Code.Aborted:
      return new ServiceError(canceled, { cause: error });
    case Code.ResourceExhausted:
      return errors.payloadTooLarge({ cause: error });
    case Code.Unimplemented:
      return isUnknownCompression(error)
        ? new ServiceError([415, "unsupported_media_type", message], { cause: error })
        : errors.unimplemented({ message, cause: error });
    case Code.Unavailable:
      return errors.unavailable({ retryAfter: 1, cause: error });
    default:
      return isUnreadableMessage(error)
        ? errors.badRequest({ message: "The message cannot be read.", cause: error })
        : internal(error, policy);
  }
}

function undecodable(error: ConnectError, policy: Policy | undefined): ServiceError {
  const { cause } = error;
  if (cause instanceof Refusal) return ofRefusal(cause, policy);
  if (cause instanceof FieldError) {
    const field = cause.field();
    const fields = [{ field: field.name, code: "type", message: cause.message }];
    return new ServiceError(policy?.invalidRow ?? [400, "validation_error", ""], {
      message: error.rawMessage,
      fields,
      cause: error,
    });
  }
  return errors.badRequest({ message: error.rawMessage, cause: error });
}
