import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { tracing } from "../platform/tracing.ts";
import type { RequestHead } from "../transcoding/index.ts";
import type { CompiledRpc } from "./connect.ts";
import { CONTENT_TYPE, GrpcCall, PREFIX_BYTES } from "./grpc-call.ts";
import type { GrpcCallOptions, Target } from "./grpc-call.ts";
import type { UnaryCall } from "./pipeline.ts";

/** A stream of HTTP/2 with its head, as node's `stream` event brings it. */
export interface StreamHead {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
  rawHeaders: readonly string[];
}

/**
 * Takes a stream that is a plain unary gRPC call, and calls `otherwise`, with the stream as it was, for every other
 * one: whatever is compressed, cut, too large, slow in coming or cannot be decoded is served by connect's handlers.
 */
export type UnaryGrpc = (head: StreamHead, otherwise: () => void) => void;

/** What the calls need of the server. */
export interface UnaryGrpcOptions extends GrpcCallOptions {
  rpcs: readonly CompiledRpc[];
  /** Bytes of a header block. */
  headerBytes: number;
}

/** Messages up to this size are taken; larger ones take several frames anyway. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/**
 * Serves unary gRPC calls straight on HTTP/2 streams, by the gate and the pipeline of every protocol. Costs a fifth of
 * the way through node's compatibility classes and connect's universal handlers, which make some forty promises for a
 * call.
 */
export function createUnaryGrpc(options: UnaryGrpcOptions): UnaryGrpc {
  const targets = new Map<string, Target>();
  for (const { policy, run } of options.rpcs) {
    const { method } = policy;
    if (method.methodKind === "unary") targets.set(policy.path, { policy, method, run: run as UnaryCall });
  }
  const sockets = new WeakMap<Http2Session, RequestHead["socket"]>();

  /** The address of a connection. `session.socket` is a proxy, which costs more than the rest of the head. */
  function socketOf(session: Http2Session): RequestHead["socket"] {
    const known = sockets.get(session);
    if (known !== undefined) return known;
    const { remoteAddress } = session.socket;
    const socket = { remoteAddress };
    sockets.set(session, socket);
    return socket;
  }

  let waiting: Waiting[] = [];

  /** By now the frames that came with the heads have been read; a message that is not among them goes the other way. */
  function look(): void {
    const decoded: Decoded[] = [];
    const calls = waiting;
    waiting = [];
    for (const call of calls) {
      const { stream, target, otherwise } = call;
      if (stream.destroyed) continue;
      if (stream.readableEnded) {
        serve(call, undefined);
        continue;
      }
      // Nothing is read of a stream without bytes: that would make it end before connect listens.
      const bytes = stream.readableLength === 0 ? null : (stream.read() as Buffer | null);
      const message = bytes === null ? undefined : decode(target.method, bytes);
      if (bytes !== null && message !== undefined) {
        decoded.push({ ...call, bytes, message });
        continue;
      }
      if (bytes !== null) stream.unshift(bytes);
      otherwise();
    }
    // Reading the last bytes tells of the end of the stream, in the next tick.
    if (decoded.length > 0) process.nextTick(settle, decoded);
  }

  function settle(calls: readonly Decoded[]): void {
    for (const call of calls) {
      if (call.stream.destroyed) continue;
      if (call.stream.readableEnded) {
        serve(call, call.message);
      } else {
        call.stream.unshift(call.bytes);
        call.otherwise();
      }
    }
  }

  function serve({ target, stream, headers, timeoutMs }: Waiting, message: Message | undefined): void {
    const { session } = stream;
    if (session === undefined) return;
    const request = { headers, method: "POST", url: target.policy.path, socket: socketOf(session) };
    void new GrpcCall(options, target, stream, request, timeoutMs).serve(message);
  }

  return (head, otherwise) => {
    const { stream, headers } = head;
    const target = tracing() ? undefined : targets.get(headers[":path"] as string);
    const timeoutMs = timeoutOf(headers["grpc-timeout"]);
    if (target === undefined || timeoutMs === "malformed" || !isPlain(head, options.headerBytes)) return otherwise();
    stream.on("error", ignore); // `close` follows
    if (waiting.length === 0) setImmediate(look);
    waiting.push({ target, stream, headers, timeoutMs, otherwise });
  };
}

function ignore(): void {}

/** A call whose message has not been looked for. */
interface Waiting {
  target: Target;
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
  timeoutMs: number | undefined;
  otherwise: () => void;
}

/** A call with its message, of which it is not known yet whether it is the only one. */
interface Decoded extends Waiting {
  bytes: Buffer;
  message: Message;
}

/** A POST with a binary message that is not compressed, from no browser, and a head like any other. */
function isPlain({ stream, headers, rawHeaders }: StreamHead, headerBytes: number): boolean {
  const type = headers["content-type"];
  if (type !== "application/grpc" && type !== CONTENT_TYPE) return false;
  if (headers[":method"] !== "POST" || stream.endAfterHeaders) return false;
  if ((headers["grpc-encoding"] ?? "identity") !== "identity") return false;
  if (headers.origin !== undefined || headers.host !== undefined || headers.expect !== undefined) return false;
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes <= headerBytes;
}

/** Milliseconds of a `grpc-timeout`; undefined without one. */
function timeoutOf(header: string | string[] | undefined): number | "malformed" | undefined {
  if (header === undefined) return undefined;
  const found = typeof header === "string" ? /^(\d{1,8})([HMSmun])$/.exec(header) : null;
  if (found === null) return "malformed";
  const ms = Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS];
  return ms > 2 ** 31 - 1 ? "malformed" : ms;
}

const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The one message in these bytes; undefined unless they are just that, uncompressed and decodable. */
function decode({ input }: DescMethod, bytes: Buffer): Message | undefined {
  if (bytes.length < PREFIX_BYTES || bytes[0] !== 0 || bytes.length > PREFIX_BYTES + MAX_MESSAGE_BYTES)
    return undefined;
  if (bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) return undefined;
  try {
    return fromBinary(input, bytes.subarray(PREFIX_BYTES));
  } catch {
    return undefined; // refused in the order and the words of every protocol
  }
}
