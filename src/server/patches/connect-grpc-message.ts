/**
 * Sends the messages of gRPC and gRPC-Web errors as they are. Connect encodes them as URI components, and clients such as
 * `@grpc/grpc-js` and Google's `grpc-web` do not decode `%3A` and the like.
 *
 * @patches @connectrpc/connect 2.2.0
 * @upstream https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md (what must be encoded, and nothing else)
 */
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";

/** Decodes an encoded message. What is not ASCII, `%` and outer spaces remain encoded. */
function plainMessage(encoded: string): string {
  return decodeURIComponent(encoded).replaceAll(/[^ !-$&-~]+|^ +|(?<! ) +$/gu, encodeURIComponent);
}

/** Makes `trailer` hold a plain message, when connect sets one. */
export function keepMessagePlain(trailer: Headers): void {
  const set = trailer.set.bind(trailer);
  Object.assign(trailer, {
    set: (name: string, value: string) =>
      set(name, name.toLowerCase() === "grpc-message" ? plainMessage(value) : value),
  });
}

/** Sets the status of `error`, its message plain. */
export function setPlainStatus(trailer: Headers, error: ConnectError): Headers {
  keepMessagePlain(trailer);
  return setTrailerStatus(trailer, error);
}
