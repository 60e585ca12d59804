/** Why a request has no response. */
export type OutgoingReason =
  | "refused_address"
  | "dns"
  | "connect"
  | "tls"
  | "timeout"
  | "reset"
  | "too_large"
  | "bad_response";

const messages: Readonly<Record<OutgoingReason, string>> = {
  refused_address: "the address is not a public one",
  dns: "the host name does not resolve",
  connect: "no connection could be made",
  tls: "no secure connection could be made",
  timeout: "no complete answer in time",
  reset: "the connection ended before the answer did",
  too_large: "the answer's headers are too large",
  bad_response: "the answer is not valid HTTP",
};

/** A request without a response. The message may be shown to the owner of the URL; details are in `cause`. */
export class OutgoingError extends Error {
  readonly reason: OutgoingReason;

  constructor(reason: OutgoingReason, cause?: unknown, message: string = messages[reason]) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "OutgoingError";
    this.reason = reason;
  }
}

/** Messages with which undici closes the socket: it accepts 100 and 101 only when it has asked for them. */
const UNREQUESTED = ["bad response", "bad upgrade"];

/** Classifies the errors of undici and sockets. */
export function outgoingError(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "UND_ERR_HEADERS_OVERFLOW" || code === "UND_ERR_RES_EXCEEDED_MAX_SIZE")
    return new OutgoingError("too_large", error);
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT")
    return new OutgoingError("timeout", error);
  if (code === "UND_ERR_SOCKET" && error instanceof Error && UNREQUESTED.includes(error.message))
    return new OutgoingError(
      "bad_response",
      error,
      "the answer was 100 Continue or an upgrade, which was not asked for",
    );
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH")
    return new OutgoingError("bad_response", error);
  const socketFailures = [
    "UND_ERR_SOCKET",
    "UND_ERR_DESTROYED",
    "UND_ERR_CLOSED",
    "UND_ERR_ABORTED",
    "ECONNRESET",
    "EPIPE",
    "ETIMEDOUT",
    "ECONNABORTED",
  ];
  return new OutgoingError(socketFailures.includes(code) ? "reset" : "bad_response", error);
}
