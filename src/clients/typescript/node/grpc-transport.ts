import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import { createGrpcTransport as createLibraryTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import type { Transport } from "../bundled/connect.ts";
import { createMethodSerializationLookup } from "../bundled/connect-grpc.ts";
import { callUnary } from "./grpc-call.ts";
import type { GrpcMethod } from "./grpc-call.ts";

const MAX_BYTES = 0xffff_ffff;
/** A connection that is silent for so long is asked whether it is alive; without, a dead one stays for 15 minutes. */
const ALIVE = { pingIntervalMs: 20_000, pingTimeoutMs: 5_000 };

/**
 * gRPC over HTTP/2, with the options of the function of this name of `@connectrpc/connect-node`. Unary calls go
 * straight to `node:http2`, several times as fast; calls with interceptors, in JSON, or with a compression of the
 * caller's, and all streams, are the library's. Both share one connection, which is given up when it is dead:
 * `pingIntervalMs` is 20,000 and `pingTimeoutMs` 5,000 unless they are given.
 */
export function createGrpcTransport(options: GrpcTransportOptions): Transport {
  const sessions =
    options.sessionManager ?? new Http2SessionManager(options.baseUrl, { ...ALIVE, ...options }, options.nodeOptions);
  const library = createLibraryTransport({ ...options, sessionManager: sessions });
  if (!isPlain(options)) return library;
  const prefix = new URL(options.baseUrl).pathname.replace(/\/+$/u, "");
  const readMaxBytes = options.readMaxBytes ?? MAX_BYTES;
  const limits = { readMaxBytes, writeMaxBytes: options.writeMaxBytes ?? MAX_BYTES };
  const methods = new Map<unknown, unknown>();

  function known<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>): GrpcMethod<I, O> {
    let found = methods.get(method) as GrpcMethod<I, O> | undefined;
    if (found === undefined) {
      const serialization = createMethodSerializationLookup(method, options.binaryOptions, undefined, limits);
      found = {
        method,
        path: `${prefix}/${method.parent.typeName}/${method.name}`,
        request: serialization.getI(true),
        response: serialization.getO(true),
        readMaxBytes,
      };
      methods.set(method, found);
    }
    return found;
  }

  return {
    unary: (method, signal, timeoutMs = options.defaultTimeoutMs, header, message) =>
      callUnary(sessions, known(method), { signal, timeoutMs, header, message }),
    stream: (...call) => library.stream(...call),
  };
}

const isPlain = ({
  useBinaryFormat,
  interceptors,
  sendCompression,
  acceptCompression,
}: GrpcTransportOptions): boolean =>
  useBinaryFormat !== false &&
  (interceptors === undefined || interceptors.length === 0) &&
  sendCompression === undefined &&
  acceptCompression === undefined;
