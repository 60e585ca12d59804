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

/** Returns `Vary` with one more name, beside what is set already: by default what the response has. */
export function varying(response: NodeResponse, name: string, set: unknown = response.getHeader("vary")): string {
  const names = Array.isArray(set) ? set.join(", ") : typeof set === "string" ? set : "";
  if (names === "") return name;
  const has = names.split(",").some((one) => one.trim().toLowerCase() === name.toLowerCase());
  return has ? names : `${names}, ${name}`;
}

/** Adds a name to `Vary` in `headers`, beside what the embedding program has set. */
export function vary(response: NodeResponse, headers: string[], name: string): void {
  const at = headers.indexOf("vary");
  if (at < 0) headers.push("vary", varying(response, name));
  else headers[at + 1] = varying(response, name, headers[at + 1]);
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
  const coding = negotiateCoding(request.headers["accept-encoding"], ["br", "gzip"]);
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
  response.writeHead(answer.status, answer.headers);
}
