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

/** Bytes of the message of an error, as gRPC encodes it in a trailer. The details, in another one, repeat it. */
const MAX_MESSAGE_BYTES = 1024;

/** Converts an error for Connect, gRPC and gRPC-Web, with the headers it has over REST. */
export function connectError(error: ServiceError): ConnectError {
  if (error.connect !== undefined) return error.connect;
  const message = shortMessage(error.message, MAX_MESSAGE_BYTES);
  return new ConnectError(message, codeOf(error), headersOf(error), detailsOf(error), error);
}

/**
 * Shortens a message, which may repeat a client's text, to `bytes` in percent-encoding. HTTP/2 ends the connection,
 * with the calls of everybody behind a proxy, rather than send a header block of more than 64 KiB.
 */
export function shortMessage(message: string, bytes: number): string {
  // gRPC encodes the message as a URI component, which half a surrogate pair of a client's text would break.
  const text = message.toWellFormed();
  // No UTF-16 code unit takes more than three bytes of UTF-8, and each of them three characters.
  if (text.length * 9 <= bytes) return text;
  let left = bytes;
  let shown = "";
  for (const character of text) {
    left -= character >= " " && character <= "~" ? 1 : 3 * Buffer.byteLength(character);
    if (left < 0) return `${shown}…`;
    shown += character;
  }
  return text;
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
