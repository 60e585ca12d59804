import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { endInPieces, RestContext } from "../transcoding/index.ts";
import type { RequestHead } from "../transcoding/index.ts";
import { Call } from "./call.ts";
import type { AddressOf } from "./call.ts";
import { connectError } from "./codes.ts";
import type { Gate } from "./gate/index.ts";
import type { UnaryCall } from "./pipeline.ts";
import type { Policy } from "./policy.ts";
import type { Fail } from "./reporter.ts";

/** What a call needs of the server. */
export interface GrpcCallOptions {
  gate: Gate;
  fail: Fail;
  shutdownSignal: AbortSignal;
  addressOf: AddressOf;
  done: (call: Call, status: number) => void;
}

/** An rpc by its path. */
export interface Target {
  policy: Policy;
  method: DescMethod;
  run: UnaryCall;
}

/** Length of the prefix of a message: a flag and the length (gRPC over HTTP/2, Length-Prefixed-Message). */
export const PREFIX_BYTES = 5;
/** The content type of every answer. */
export const CONTENT_TYPE = "application/grpc+proto";

/** Answers smaller than this are not compressed, as with connect. */
const COMPRESS_BYTES = 1024;

const compress = promisify(gzip);

/** One unary gRPC call on its HTTP/2 stream. */
export class GrpcCall {
  readonly #options: GrpcCallOptions;
  readonly #target: Target;
  readonly #stream: ServerHttp2Stream;
  readonly #call: Call;
  readonly #context: RestContext;
  #timer: NodeJS.Timeout | undefined;
  /** The answer is on its way, or nobody waits for it. */
  #over = false;

  constructor(
    options: GrpcCallOptions,
    target: Target,
    stream: ServerHttp2Stream,
    request: RequestHead,
    timeoutMs: number | undefined,
  ) {
    this.#options = options;
    this.#target = target;
    this.#stream = stream;
    this.#call = new Call(request, options.addressOf);
    this.#call.protocol = "grpc";
    this.#call.policy = target.policy;
    this.#context = new RestContext(target.method, request, this.#call, options.shutdownSignal, timeoutMs, "grpc");
    stream.on("close", () => this.#gone());
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#late(), timeoutMs);
  }

  /** Judges the caller, runs the rpc and answers. */
  async serve(message: Message | undefined): Promise<void> {
    const { policy, method, run } = this.#target;
    const { gate } = this.#options;
    try {
      const pending = gate.beforeMessage(policy, this.#call);
      if (pending !== undefined) await pending;
      if (message === undefined) {
        const missing = "protocol error: missing input message for unary method"; // as connect says it
        throw gate.refusal(policy, this.#call) ?? new ConnectError(missing, Code.Unimplemented);
      }
      const result = run(message, this.#context);
      const answer = result instanceof Promise ? await result : result;
      // Timers are late by up to a millisecond; a deadline is not.
      if ((this.#context.timeoutMs() ?? 1) <= 0) this.#late();
      if (this.#over) return;
      const frame = frameOf(toBinary(method.output, create(method.output, answer)));
      if (frame.length >= PREFIX_BYTES + COMPRESS_BYTES && this.#takesGzip()) return await this.#succeedSmaller(frame);
      this.#succeed(frame, undefined);
    } catch (reason) {
      this.#refuse(reason);
    }
  }

  #takesGzip(): boolean {
    const accepted = this.#context.requestHeader.get("grpc-accept-encoding");
    return accepted !== null && accepted.split(",").some((name) => name.trim() === "gzip");
  }

  async #succeedSmaller(frame: Buffer): Promise<void> {
    const smaller = frameOf(await compress(frame.subarray(PREFIX_BYTES)));
    smaller[0] = 1;
    if (!this.#over) this.#succeed(smaller, "gzip");
  }

  #succeed(frame: Buffer, encoding: string | undefined): void {
    this.#finish(undefined, 200);
    const headers = this.#headers();
    if (encoding !== undefined) headers["grpc-encoding"] = encoding;
    this.#send(() => {
      this.#stream.respond(headers, { waitForTrailers: true });
      this.#stream.on("wantTrailers", () => this.#stream.sendTrailers({ "grpc-status": "0" }));
      endInPieces(this.#stream, frame);
    });
  }

  /** Answers with an error: trailers only, as the protocol says of calls without a message. */
  #refuse(reason: unknown): void {
    if (this.#over) return;
    const error = this.#options.fail(reason, this.#call);
    this.#finish(error, this.#call.status);
    const headers = this.#headers();
    setTrailerStatus(new Headers(), connectError(error)).forEach((value, name) => (headers[name] = value));
    this.#send(() => this.#stream.respond(headers, { endStream: true }));
  }

  /** What node refuses to send (a header with a line break, say) ends the stream, not the program. */
  #send(answer: () => void): void {
    if (this.#stream.destroyed) return;
    try {
      answer();
    } catch {
      this.#stream.close(2 /* INTERNAL_ERROR */);
    }
  }

  #headers(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = {
      ":status": 200,
      "content-type": CONTENT_TYPE,
      "x-request-id": this.#call.info.requestId,
      "x-content-type-options": "nosniff",
    };
    this.#context.answerHeader?.forEach((value, name) => (headers[name] = value));
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

  #gone(): void {
    if (this.#over) return;
    const canceled = new ConnectError(`the stream was reset (${this.#stream.rstCode})`, Code.Canceled);
    const error = this.#options.fail(canceled, this.#call);
    this.#finish(error, this.#call.status);
  }
}

function frameOf(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
