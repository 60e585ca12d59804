import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { negotiateCoding } from "./media.ts";
import { endInPieces } from "./pieces.ts";
import type { NodeRequest, NodeResponse } from "./types.ts";

const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const compressible = /^(?:text\/|application\/(?:.*\+)?(?:json|xml|javascript|x-ndjson|x-pem-file)|image\/svg)/;

/** A response for Node. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn, lower-case names. */
  readonly headers: string[];
  /** Undefined for a response without a body (204, 304). */
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

/** Compresses a response where the client accepts it and the media type is compressible. */
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

/** Writes a complete response. */
export function send(request: NodeRequest, response: NodeResponse, answer: Answer): void {
  const { headers, body } = answer;
  let encoding: BufferEncoding = "utf8";
  if (typeof body === "string") {
    const length = Buffer.byteLength(body);
    headers.push("content-length", `${length}`);
    // For ASCII the cheaper encoding gives the same bytes.
    if (length === body.length) encoding = "latin1";
  } else if (body !== undefined) headers.push("content-length", `${body.length}`);
  writeHead(response, answer);
  if (body === undefined || request.method === "HEAD") response.end();
  else endInPieces(response, body, encoding);
}

/** Writes status and headers on either version of HTTP. */
export function writeHead(response: NodeResponse, answer: Answer): void {
  (response as ServerResponse).writeHead(answer.status, answer.headers);
}
