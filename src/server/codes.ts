import { create } from "@bufbuild/protobuf";
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { FieldViolation, ServiceError } from "../platform/errors.ts";

const byStatus: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.InvalidArgument,
  406: Code.InvalidArgument,
  409: Code.FailedPrecondition,
  410: Code.FailedPrecondition,
  412: Code.FailedPrecondition,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  422: Code.FailedPrecondition,
  423: Code.FailedPrecondition,
  429: Code.ResourceExhausted,
  499: Code.Canceled,
  500: Code.Internal,
  501: Code.Unimplemented,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

const duplicateCodes = new Set(["already_installed", "grant_exists", "variable_exists"]);

/** Returns the code of Connect and gRPC for an error (decisions 15.3). */
export function codeOf(error: ServiceError): Code {
  if (error.status === 409 && (error.code.endsWith("_taken") || duplicateCodes.has(error.code) || error.duplicate))
    return Code.AlreadyExists;
  if (error.code === "version_conflict") return Code.Aborted;
  if (error.code === "unimplemented") return Code.Unimplemented;
  return byStatus[error.status] ?? Code.Unknown;
}

/**
 * Bytes of the field violations of an error. gRPC sends them in a trailer, in base64, and clients take 8 KiB of trailers
 * by default.
 */
const MAX_DETAIL_BYTES = 4 * 1024;
/** Tags and lengths around the texts of one violation. */
const VIOLATION_FRAME_BYTES = 16;

/** A detail message of an error. */
export type Detail = { desc: DescMessage; value: MessageInitShape<DescMessage> };

/** Returns the details of a Connect or gRPC error (decisions 1.4). */
export function detailsOf(error: ServiceError): Detail[] {
  const info = create(ErrorInfoSchema, {
    reason: error.code.toUpperCase(),
    domain: "atrium",
    metadata: {
      http_status: String(error.status),
      ...(error.scimType !== undefined && { scim_type: error.scimType }),
    },
  });
  const details: Detail[] = [{ desc: ErrorInfoSchema, value: info }];
  if (error.fields !== undefined) {
    const fieldViolations = shortened(error.fields).map(({ field, code, message }) => ({
      field,
      description: message,
      reason: code.toUpperCase(),
    }));
    details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
  }
  return details;
}

/** Returns the violations without those that do not fit into `MAX_DETAIL_BYTES`, after the ones before them. */
function shortened(violations: readonly FieldViolation[]): FieldViolation[] {
  let bytes = 0;
  return violations.filter(({ field, code, message }) => {
    const size = Buffer.byteLength(field) + Buffer.byteLength(message) + code.length + VIOLATION_FRAME_BYTES;
    if (bytes + size > MAX_DETAIL_BYTES) return false;
    bytes += size;
    return true;
  });
}

/** Converts an error for Connect, gRPC and gRPC-Web, with the headers it has over REST. */
export function connectError(error: ServiceError): ConnectError {
  if (error.connect !== undefined) return error.connect;
  // gRPC encodes the message as a URI component, which half a surrogate pair of a client's text would break.
  return new ConnectError(error.message.toWellFormed(), codeOf(error), headersOf(error), detailsOf(error), error);
}

/** Returns the headers of an error, over every protocol (decisions 1.3). */
export function headersOf(error: ServiceError): Record<string, string> {
  const headers: Record<string, string> = { ...error.headers };
  if (error.status === 401) headers["www-authenticate"] ??= "Bearer";
  if (error.code === "step_up_required") {
    headers["www-authenticate"] ??=
      'Bearer error="insufficient_user_authentication", error_description="A step-up is required", max_age=900';
  }
  if (error.retryAfter !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(error.retryAfter)));
  else if (error.status === 429 || error.status === 503) headers["retry-after"] ??= "1";
  return headers;
}
