import type { DescMethod, Message } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { tracing } from "../platform/tracing.ts";
import type { CompiledRpc } from "./connect.ts";
import { grpcTimeoutMs } from "./deadline.ts";
import { CONTENT_TYPE, GrpcCall, PREFIX_BYTES } from "./grpc-call.ts";
import type { GrpcCallOptions, Target } from "./grpc-call.ts";
import type { OpenStream } from "./open-streams.ts";
import type { UnaryCall } from "./pipeline.ts";

/**
 * Serves a stream that is a plain unary gRPC call, and calls `otherwise`, with the stream unchanged, for every other
 * one: connect's handlers serve what is compressed, split, too large, slow to arrive or cannot be decoded.
 */
export type UnaryGrpc = (open: OpenStream, otherwise: (open: OpenStream) => void) => void;

/** What the calls need from the server. */
export interface UnaryGrpcOptions extends GrpcCallOptions {
  rpcs: readonly CompiledRpc[];
  /** Maximum size of a header block. */
  headerBytes: number;
}

/** Maximum size of a message served here; larger ones take several frames anyway. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/**
 * Serves unary gRPC calls directly on HTTP/2 streams, with the gate and the pipeline of every protocol. This costs a
 * fifth of the way through node's compatibility classes and connect's universal handlers, which create some forty
 * promises per call.
 */
export function createUnaryGrpc(options: UnaryGrpcOptions): UnaryGrpc {
  const targets = new Map<string, Target>();
  for (const { policy, run } of options.rpcs) {
    const { method } = policy;
    if (method.methodKind === "unary") targets.set(policy.path, { policy, method, run: run as UnaryCall });
  }
  let waiting: Waiting[] = [];

  /**
   * Runs when the frames that arrived with the heads have been read. Without a message by now, a call is not served
   * here.
   */
  function look(): void {
    const decoded: Waiting[] = [];
    const calls = waiting;
    waiting = [];
    for (const call of calls) {
      const { stream } = call.open;
      if (stream.destroyed) continue;
      if (stream.readableEnded) {
        serve(call);
        continue;
      }
      // A stream without bytes is not read: it would end before connect listens.
      const bytes = stream.readableLength === 0 ? null : (stream.read() as Buffer | null);
      if (bytes !== null) {
        call.bytes = bytes;
        call.message = decode(call.target.method, bytes);
        if (call.message !== undefined) {
          decoded.push(call);
          continue;
        }
        stream.unshift(bytes);
      }
      call.otherwise(call.open);
    }
    // Reading the last bytes emits the end of the stream in the next tick.
    if (decoded.length > 0) process.nextTick(settle, decoded);
  }

  function settle(calls: readonly Waiting[]): void {
    for (const call of calls) {
      const { stream } = call.open;
      if (stream.destroyed) continue;
      if (stream.readableEnded) {
        serve(call);
      } else {
        stream.unshift(call.bytes);
        call.otherwise(call.open);
      }
    }
  }

  function serve({ target, open, timeoutMs, message }: Waiting): void {
    if (open.stream.session !== undefined) void new GrpcCall(options, target, open, timeoutMs).serve(message);
  }

  return (open, otherwise) => {
    const { headers } = open;
    const target = tracing() ? undefined : targets.get(open.url);
    const timeoutMs = grpcTimeoutMs(headers["grpc-timeout"]);
    if (target === undefined || timeoutMs === "malformed" || !isPlain(open, options.headerBytes))
      return otherwise(open);
    open.stream.on("error", ignore); // `close` follows
    if (waiting.length === 0) setImmediate(look);
    waiting.push({ target, open, timeoutMs, otherwise, bytes: undefined, message: undefined });
  };
}

function ignore(): void {}

/** A call whose message has not been read, or may not be the only one. */
interface Waiting {
  readonly target: Target;
  readonly open: OpenStream;
  readonly timeoutMs: number | undefined;
  readonly otherwise: (open: OpenStream) => void;
  bytes: Buffer | undefined;
  message: Message | undefined;
}

/** Whether it is a POST of an uncompressed binary message, not from a browser, with a header block within the limit. */
function isPlain({ stream, headers, rawHeaders }: OpenStream, headerBytes: number): boolean {
  const type = headers["content-type"];
  if (type !== "application/grpc" && type !== CONTENT_TYPE) return false;
  if (headers[":method"] !== "POST" || stream.endAfterHeaders) return false;
  if ((headers["grpc-encoding"] ?? "identity") !== "identity") return false;
  if (headers.origin !== undefined || headers.host !== undefined || headers.expect !== undefined) return false;
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes <= headerBytes;
}

/** Returns the message in these bytes; undefined unless they are exactly one, uncompressed and decodable. */
function decode({ input }: DescMethod, bytes: Buffer): Message | undefined {
  if (bytes.length < PREFIX_BYTES || bytes[0] !== 0 || bytes.length > PREFIX_BYTES + MAX_MESSAGE_BYTES)
    return undefined;
  if (bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) return undefined;
  try {
    return fromBinary(input, bytes.subarray(PREFIX_BYTES));
  } catch {
    return undefined; // refused by connect's handlers, with the order and the messages of every protocol
  }
}
