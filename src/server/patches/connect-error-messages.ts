/**
 * Recognizes errors of connect by their messages: several faults of the client have the code `internal` or
 * `unimplemented`, like faults of the server.
 *
 * @patches @connectrpc/connect 2.2.0
 * @upstream none: the codes follow the gRPC specification, and `ConnectError` has no field for the cause
 */
import { Code } from "@connectrpc/connect";
import type { ConnectError } from "@connectrpc/connect";

/** A message with `Content-Encoding` or `grpc-encoding` of a compression that the server does not have. */
export function isUnknownCompression({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Unimplemented && rawMessage.startsWith("unknown compression");
}

/** A message that is not protobuf, a truncated gzip stream, or a compressed frame without a declared compression. */
export function isUnreadableMessage({ rawMessage }: ConnectError): boolean {
  return /^(?:parse binary|decompression failed|received compressed envelope)/u.test(rawMessage);
}
