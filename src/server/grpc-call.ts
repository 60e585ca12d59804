import { constants } from "node:http2";
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { endInPieces, RestContext } from "../transcoding/index.ts";
import { nodeHeaders } from "./adapter.ts";
import { Call } from "./call.ts";
import type { AddressOf } from "./call.ts";
import { connectError } from "./codes.ts";
import type { Gate } from "./gate/index.ts";
import { gzipMessages } from "./gzip.ts";
import type { OpenStream } from "./open-streams.ts";
import { setPlainStatus } from "./patches/connect-grpc-message.ts";
import type { UnaryCall } from "./pipeline.ts";
import type { Policy } from "./policy.ts";
import { NOSNIFF } from "./print.ts";
import type { Fail } from "./reporter.ts";

/** What a call needs from the server. */
export interface GrpcCallOptions {
  gate: Gate;
  fail: Fail;
  shutdownSignal: AbortSignal;
  addressOf: AddressOf;
  done: (call: Call, status: number) => void;
}

/** A unary rpc. */
export interface Target {
  policy: Policy;
  method: DescMethod;
  run: UnaryCall;
}

/** Size of a message's prefix: the compressed flag and the length (gRPC over HTTP/2, Length-Prefixed-Message). */
export const PREFIX_BYTES = 5;
/** The content type of every response. */
export const CONTENT_TYPE = "application/grpc+proto";

/** Responses smaller than this are not compressed, as with connect. */
const COMPRESS_BYTES = 1024;

/** Headers of every response, in pairs: node takes lists of headers faster than objects. */
const HEADERS = [":status", "200", "content-type", CONTENT_TYPE, ...Object.entries(NOSNIFF).flat()];
const WAIT_FOR_TRAILERS = { waitForTrailers: true };
const STATUS_OK = { "grpc-status": "0" };

/** A unary gRPC call on its HTTP/2 stream. */
export class GrpcCall {
  readonly #options: GrpcCallOptions;
  readonly #target: Target;
  readonly #stream: ServerHttp2Stream;
  readonly #call: Call;
  readonly #context: RestContext;
  #timer: NodeJS.Timeout | undefined;
  /** The response is being sent, or the client has gone. */
  #over = false;

  constructor(options: GrpcCallOptions, target: Target, open: OpenStream, timeoutMs: number | undefined) {
    this.#options = options;
    this.#target = target;
    this.#stream = open.stream;
    this.#call = new Call(open, options.addressOf);
    this.#call.protocol = "grpc";
    this.#call.policy = target.policy;
    this.#context = new RestContext(target.method, open, this.#call, options.shutdownSignal, timeoutMs, "grpc");
    open.call = this;
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#late(), timeoutMs);
  }

  /** Authenticates the caller, runs the rpc and responds. */
  async serve(message: Message | undefined): Promise<void> {
    const { policy, method, run } = this.#target;
    const { gate } = this.#options;
    try {
      const pending = gate.beforeMessage(policy, this.#call);
      if (pending !== undefined) await pending;
      if (message === undefined) {
        const missing = "protocol error: missing input message for unary method"; // connect's words
        throw gate.refusal(policy, this.#call) ?? new ConnectError(missing, Code.Unimplemented);
      }
      const result = run(message, this.#context);
      const answer = result instanceof Promise ? await result : result;
      // Timers are late by up to a millisecond; a deadline is not.
      if ((this.#context.timeoutMs() ?? 1) <= 0) this.#late();
      if (this.#over) return;
      const frame = frameOf(method, answer);
      if (frame.length >= PREFIX_BYTES + COMPRESS_BYTES && this.#takesGzip()) await this.#succeedCompressed(frame);
      else this.#succeed(frame, undefined);
    } catch (reason) {
      this.#refuse(reason);
    }
  }

  /** Ends the call when its stream closes. */
  closed(): void {
    if (this.#over) return;
    const canceled = new ConnectError(`the stream was reset (${this.#stream.rstCode})`, Code.Canceled);
    const error = this.#options.fail(canceled, this.#call);
    this.#finish(error, this.#call.status);
  }

  #takesGzip(): boolean {
    const accepted = this.#context.requestHeader.get("grpc-accept-encoding");
    return accepted !== null && accepted.split(",").some((name) => name.trim() === "gzip");
  }

  async #succeedCompressed(frame: Buffer): Promise<void> {
    const bytes = await gzipMessages.compress(frame.subarray(PREFIX_BYTES));
    const smaller = prefixed(bytes, Buffer.allocUnsafe(PREFIX_BYTES + bytes.length));
    smaller[0] = 1;
    if (!this.#over) this.#succeed(smaller, "gzip");
  }

  #succeed(frame: Buffer, encoding: string | undefined): void {
    this.#finish(undefined, 200);
    const stream = this.#stream;
    if (stream.destroyed) return;
    try {
      stream.respond(this.#headers(encoding), WAIT_FOR_TRAILERS);
      const own = this.#context.existingResponseTrailer;
      stream.on(
        "wantTrailers",
        own === undefined ? sendOk : () => stream.sendTrailers({ ...nodeHeaders(own), ...STATUS_OK }),
      );
      endInPieces(stream, frame);
    } catch {
      this.#abort();
    }
  }

  /**
   * Responds with an error: trailers only, as the protocol has it for calls without a message, unless the handler has
   * set trailers, which clients tell from headers.
   */
  #refuse(reason: unknown): void {
    if (this.#over) return;
    const error = this.#options.fail(reason, this.#call);
    this.#finish(error, this.#call.status);
    if (this.#stream.destroyed) return;
    try {
      const headers: OutgoingHttpHeaders = {};
      const list = this.#headers(undefined);
      for (let at = 0; at < list.length; at += 2) headers[list[at] as string] = list[at + 1];
      const { existingResponseTrailer: trailer } = this.#context;
      const own = trailer === undefined ? new Headers() : new Headers(trailer);
      const status = nodeHeaders(setPlainStatus(own, connectError(error)));
      if (trailer === undefined) {
        this.#stream.respond({ ...headers, ...status }, { endStream: true });
        return;
      }
      this.#stream.respond(headers, WAIT_FOR_TRAILERS);
      this.#stream.on("wantTrailers", () => this.#stream.sendTrailers(status));
      this.#stream.end();
    } catch {
      this.#abort();
    }
  }

  /** Resets the stream, when node refuses to send a header (one with a line break, say). */
  #abort(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  #headers(encoding: string | undefined): string[] {
    const headers = [...HEADERS, "x-request-id", this.#call.info.requestId];
    if (encoding !== undefined) headers.push("grpc-encoding", encoding);
    this.#context.existingResponseHeader?.forEach((value, name) => setHeader(headers, name, value));
    return headers;
  }

  #finish(error: unknown, status: number): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#context.end(error);
    this.#options.done(this.#call, status);
  }

  #late(): void {
    this.#refuse(new ConnectError("the operation timed out", Code.DeadlineExceeded));
  }
}

/** Sets a header in a list of names and values. */
function setHeader(headers: string[], name: string, value: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== name) continue;
    headers[at + 1] = value;
    return;
  }
  headers.push(name, value);
}

function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(STATUS_OK);
}

/**
 * Frames of frozen messages. A handler that returns one message for many calls freezes it; encoding it each time costs
 * a quarter of a small call.
 */
const frames = new WeakMap<Message, Buffer>();

function frameOf(method: DescMethod, answer: Message): Buffer {
  const known = frames.get(answer);
  if (known !== undefined) return known;
  const bytes = toBinary(method.output, create(method.output, answer));
  if (!Object.isFrozen(answer)) return prefixed(bytes, Buffer.allocUnsafe(PREFIX_BYTES + bytes.length));
  // In memory of its own: a slice of node's pool would keep the whole pool alive.
  const frame = prefixed(bytes, Buffer.allocUnsafeSlow(PREFIX_BYTES + bytes.length));
  frames.set(answer, frame);
  return frame;
}

function prefixed(message: Uint8Array, frame: Buffer): Buffer {
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
