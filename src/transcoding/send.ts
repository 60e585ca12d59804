import type { ServerResponse } from "node:http";
import { constants as h2 } from "node:http2";
import type { Http2ServerResponse } from "node:http2";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { hasBody } from "./body.ts";
import { negotiateCoding } from "./media.ts";
import type { NodeRequest, NodeResponse } from "./types.ts";

const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const compressible = /^(?:text\/|application\/(?:.*\+)?(?:json|xml|javascript|x-ndjson|x-pem-file)|image\/svg)/;
/** How long, and for how many bytes, a client that is refused may go on sending. */
const lingerMs = 1000;
const lingerBytes = 4 * 1024 * 1024;

/** An answer as it goes to node. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn, lower-case names. */
  readonly headers: string[];
  /** Undefined for an answer that has none (204, 304). */
  readonly body: string | Uint8Array | undefined;
}

/** Names of `Vary` with one more, beside what the embedding program has set. */
export function vary(response: NodeResponse, headers: string[], name: string): void {
  const at = headers.indexOf("vary");
  const set: unknown = at >= 0 ? headers[at + 1] : response.getHeader("vary");
  const names = Array.isArray(set) ? set.join(", ") : typeof set === "string" ? set : "";
  const all = names === "" ? name : names.toLowerCase().includes(name) ? names : `${names}, ${name}`;
  if (at >= 0) headers[at + 1] = all;
  else headers.push("vary", all);
}

/** Compresses an answer where the client asked for it and it is worth it; otherwise gives it back. */
export async function compressed(
  request: NodeRequest,
  response: NodeResponse,
  answer: Answer,
  contentType: string,
): Promise<Answer> {
  const { body, headers } = answer;
  if (body === undefined || !compressible.test(contentType) || headers.includes("content-encoding")) return answer;
  vary(response, headers, "accept-encoding");
  const coding = negotiateCoding(request.headers["accept-encoding"] as string);
  if (coding === undefined) return answer;
  const bytes = coding === "br" ? await brotli(body, brotliOptions) : await deflate(body);
  headers.push("content-encoding", coding);
  return { status: answer.status, headers, body: bytes };
}

/**
 * Writes an answer. A request body nobody read is thrown away when it is
 * small; otherwise the connection is closed, a little later, so that the
 * client can read the answer before it notices.
 */
export function send(request: NodeRequest, response: NodeResponse, answer: Answer, drainBytes: number): void {
  const { headers, body } = answer;
  let encoding: BufferEncoding = "utf8";
  if (typeof body === "string") {
    const length = Buffer.byteLength(body);
    headers.push("content-length", `${length}`);
    // Nothing but ASCII: the cheaper encoding gives the same bytes.
    if (length === body.length) encoding = "latin1";
  } else if (body !== undefined) headers.push("content-length", `${body.length}`);
  const payload = request.method === "HEAD" ? undefined : body;
  const unread = !request.readableEnded && hasBody(request);
  if (unread && !(Number(request.headers["content-length"] ?? Infinity) <= drainBytes)) {
    sendAndClose(request, response, answer, payload);
    return;
  }
  writeHead(response, answer);
  if (payload === undefined) response.end();
  else (response as ServerResponse).end(payload, encoding);
  if (unread) request.resume();
}

/** Writes status and headers on either version of HTTP. */
export function writeHead(response: NodeResponse, answer: Answer): void {
  (response as ServerResponse).writeHead(answer.status, answer.headers);
}

function sendAndClose(request: NodeRequest, response: NodeResponse, answer: Answer, payload: string | Uint8Array | undefined): void {
  if (request.httpVersionMajor >= 2) {
    writeHead(response, answer);
    (response as ServerResponse).end(payload);
    const { stream } = response as Http2ServerResponse;
    linger(request, () => stream.close(h2.NGHTTP2_NO_ERROR));
    return;
  }
  answer.headers.push("connection", "close");
  writeHead(response, answer);
  if (payload === undefined) (response as ServerResponse).flushHeaders();
  else (response as ServerResponse).write(payload);
  linger(request, () => (response as ServerResponse).end());
}

/** Throws away what still comes, for a while and up to a size, and then calls back. */
function linger(request: NodeRequest, done: () => void): void {
  let left = lingerBytes;
  const finish = (): void => {
    clearTimeout(timer);
    request.off("data", onData).off("end", finish).off("close", finish);
    done();
  };
  const onData = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) finish();
  };
  const timer = setTimeout(finish, lingerMs);
  request.on("data", onData).on("end", finish).on("close", finish).on("error", () => undefined);
  request.resume();
}
