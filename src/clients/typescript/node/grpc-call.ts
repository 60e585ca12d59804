import { constants } from "node:http2";
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader, OutgoingHttpHeaders } from "node:http2";
import { create, isMessage } from "@bufbuild/protobuf";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "../bundled/connect.ts";
import type { Transport, UnaryResponse } from "../bundled/connect.ts";
import { compressionGzip } from "@connectrpc/connect-node";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import type { Serialization } from "../bundled/connect-grpc.ts";
import { validateResponseWithCompression, validateTrailer } from "../bundled/connect-grpc.ts";

/** What a transport knows of an rpc. */
export interface GrpcMethod<I extends DescMessage, O extends DescMessage> {
  method: DescMethodUnary<I, O>;
  path: string;
  request: Serialization<MessageShape<I>>;
  response: Serialization<MessageShape<O>>;
  /** Bytes of an answer, at most. */
  readMaxBytes: number;
}

/** What `Transport.unary` is given, by name. */
export interface UnaryCall<I extends DescMessage> {
  signal: AbortSignal | undefined;
  timeoutMs: number | undefined;
  header: Parameters<Transport["unary"]>[3];
  message: MessageInitShape<I>;
}

/** What came back, before it is validated. */
interface RawAnswer {
  header: IncomingHttpHeaders & IncomingHttpStatusHeader;
  trailer: IncomingHttpHeaders;
  body: Buffer;
}

type Sessions = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** Flag byte and length of a message. */
const PREFIX_BYTES = 5;
const COMPRESSED = 1;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Statuses of calls whose stream was reset: "gRPC over HTTP2", section "Errors". */
const CODE_OF_RESET: Readonly<Record<number, Code>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: Code.Unavailable,
  [constants.NGHTTP2_CANCEL]: Code.Canceled,
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: Code.ResourceExhausted,
  [constants.NGHTTP2_INADEQUATE_SECURITY]: Code.PermissionDenied,
};

/**
 * Makes a unary call over `node:http2`, as "gRPC over HTTP2" has it.
 * @throws ConnectError
 */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  sessions: Sessions,
  rpc: GrpcMethod<I, O>,
  { signal, timeoutMs: givenMs, header, message }: UnaryCall<I>,
): Promise<UnaryResponse<I, O>> {
  const input = rpc.method.input;
  const timeoutMs = givenMs !== undefined && givenMs > 0 ? givenMs : undefined;
  const body = frameOf(rpc.request.serialize(isMessage(message, input) ? message : create(input, message)));
  const answer = await exchange(sessions, rpc, body, headersOf(header, timeoutMs), { signal, timeoutMs });
  return responseOf(rpc, answer);
}

/** Sends a request and waits for the whole answer, no longer than the call may last. */
function exchange(
  sessions: Sessions,
  { path, readMaxBytes }: Pick<GrpcMethod<DescMessage, DescMessage>, "path" | "readMaxBytes">,
  body: Buffer,
  headers: OutgoingHttpHeaders,
  { signal, timeoutMs }: Pick<UnaryCall<DescMessage>, "signal" | "timeoutMs">,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let ended = false;

    function end(): void {
      ended = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
    function fail(reason: unknown): void {
      if (ended) return;
      end();
      if (stream?.closed === false) stream.close(constants.NGHTTP2_CANCEL);
      reject(ConnectError.from(reason, Code.Internal));
    }
    function cancel(): void {
      fail(ConnectError.from(signal?.reason, Code.Canceled));
    }
    function expire(): void {
      fail(new ConnectError("the operation timed out", Code.DeadlineExceeded));
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS));
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener("abort", cancel);

    sessions.request("POST", path, headers, {}).then((opened) => {
      stream = opened;
      receive(opened, sessions, readMaxBytes, fail, (answer) => {
        if (ended) return;
        end();
        resolve(answer);
      });
      if (ended) opened.close(constants.NGHTTP2_CANCEL);
      else opened.end(body);
    }, fail);
  });
}

/** Collects an answer. `fail` may be called more than once, and after `done`. */
function receive(
  stream: ClientHttp2Stream,
  sessions: Sessions,
  readMaxBytes: number,
  fail: (reason: ConnectError) => void,
  done: (answer: RawAnswer) => void,
): void {
  const { session } = stream;
  const chunks: Buffer[] = [];
  let length = 0;
  let header: RawAnswer["header"] | undefined;
  let trailer: IncomingHttpHeaders = {};
  const lost = (reason?: Error): void => {
    fail(failureOf(stream, session, reason));
  };
  stream.on("response", (headers) => {
    header = headers;
  });
  stream.on("trailers", (headers: IncomingHttpHeaders) => {
    trailer = headers;
  });
  stream.on("data", (chunk: Buffer) => {
    sessions.notifyResponseByteRead(stream);
    length += chunk.length;
    chunks.push(chunk);
    if (length - PREFIX_BYTES > readMaxBytes) fail(tooLarge(readMaxBytes));
  });
  stream.on("end", () => {
    // A stream that is reset ends too, before it is closed.
    if (header === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR) return;
    done({ header, trailer, body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length) });
  });
  stream.on("error", lost);
  stream.on("close", lost);
}

/** Why a stream ended without an answer: its connection was lost, or the service reset it. */
function failureOf(
  { rstCode }: ClientHttp2Stream,
  session: ClientHttp2Stream["session"],
  reason: Error | undefined,
): ConnectError {
  const lost = session?.destroyed !== false || session.closed || rstCode === constants.NGHTTP2_NO_ERROR;
  const [message, code] = lost
    ? ["the connection was lost before the answer", Code.Unavailable]
    : [`the stream was reset with HTTP/2 code ${rstCode}`, CODE_OF_RESET[rstCode ?? 0] ?? Code.Internal];
  return new ConnectError(message, code, undefined, undefined, reason);
}

/** @throws ConnectError when the answer is an error, or none of gRPC */
function responseOf<I extends DescMessage, O extends DescMessage>(
  { method, response, readMaxBytes }: GrpcMethod<I, O>,
  { header, trailer, body }: RawAnswer,
): UnaryResponse<I, O> | Promise<UnaryResponse<I, O>> {
  if (!isSuccess(header, trailer)) {
    const headers = webHeaders(header);
    const { headerError } = validateResponseWithCompression([compressionGzip], header[":status"] ?? 0, headers);
    validateTrailer(webHeaders(trailer), headers);
    if (headerError !== undefined) throw headerError;
  }
  if (body.length < PREFIX_BYTES || body.length !== PREFIX_BYTES + body.readUInt32BE(1))
    throw new ConnectError("protocol error: one whole message expected", Code.Unimplemented);
  const bytes = new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset + PREFIX_BYTES, body.length - PREFIX_BYTES);
  const whole = (content: Uint8Array): UnaryResponse<I, O> => ({
    stream: false,
    service: method.parent,
    method,
    message: response.parse(content),
    get header() {
      return webHeaders(header);
    },
    get trailer() {
      return webHeaders(trailer);
    },
  });
  if (body[0] !== COMPRESSED) return whole(bytes);
  if (header["grpc-encoding"] !== compressionGzip.name)
    throw new ConnectError("protocol error: a compressed message without its encoding", Code.Internal);
  return compressionGzip.decompress(bytes, readMaxBytes).then(whole);
}

/** Whether an answer says that it is one, so that nothing else of its headers has to be read. */
const isSuccess = (header: RawAnswer["header"], trailer: IncomingHttpHeaders): boolean =>
  header[":status"] === 200 &&
  header["grpc-status"] === undefined &&
  header["content-type"]?.startsWith("application/grpc") === true &&
  trailer["grpc-status"] === "0";

function frameOf(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + bytes.length);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, PREFIX_BYTES);
  return frame;
}

/** What `Headers` takes and leaves as it is. */
const PLAIN_NAME = /^[a-z0-9-]+$/u;
const PLAIN_VALUE = /^[!-~](?:[ -~]*[!-~])?$/u;

/** The headers of a request, those of gRPC in place of a caller's. */
function headersOf(given: UnaryCall<DescMessage>["header"], timeoutMs: number | undefined): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { "user-agent": "atrium-client" };
  for (const [name, value] of entriesOf(given)) headers[name] = value;
  headers["content-type"] = "application/grpc+proto";
  headers["te"] = "trailers";
  headers["grpc-accept-encoding"] = "gzip";
  if (timeoutMs !== undefined) headers["grpc-timeout"] = `${timeoutMs}m`;
  return headers;
}

/** Names in lower case and values as `Headers` has them: to make one costs more than all else of a call's headers. */
function entriesOf(given: UnaryCall<DescMessage>["header"]): Iterable<readonly [string, string]> {
  if (given === undefined) return [];
  if (!(given instanceof Headers) && !(Symbol.iterator in given)) {
    const entries = Object.entries<string>(given as Readonly<Record<string, string>>);
    if (entries.every(([name, value]) => PLAIN_NAME.test(name) && PLAIN_VALUE.test(value))) return entries;
  }
  return new Headers(given);
}

function webHeaders(raw: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [String(value)]) headers.append(name, each);
  }
  return headers;
}

const tooLarge = (limit: number): ConnectError =>
  new ConnectError(`message is larger than configured readMaxBytes ${limit}`, Code.ResourceExhausted);
