import type { ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { endInPieces, isAccepted, PIECE_BYTES, piecesOf, varying } from "../transcoding/index.ts";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import type { Call } from "./call.ts";
import { capDeadlines } from "./deadline.ts";

/**
 * Converts node's request for connect. Unlike the adapter of connect-node, it does not parse the URL, and it leaves an
 * unread body alone: stopping its iteration would close the socket before the response is sent.
 */
export function universalRequest(request: NodeRequest, response: NodeResponse, call: Call): UniversalServerRequest {
  return {
    httpVersion: request.httpVersion,
    method: request.method === "HEAD" ? "GET" : (request.method ?? ""),
    url: `http://localhost${request.url ?? "/"}`,
    header: webHeaders(request),
    body: bodyOf(request),
    signal: signalOf(request, response),
    contextValues: call,
  };
}

function webHeaders(request: NodeRequest): Headers {
  const headers = new Headers();
  const { headers: sent } = request;
  for (const name in sent) {
    if (name.charCodeAt(0) === 58) continue; // pseudo-headers of HTTP/2
    const value = sent[name];
    if (typeof value === "string") headers.append(name, value);
    else if (value !== undefined) for (const one of value) headers.append(name, one);
  }
  capDeadlines(headers);
  plainBodyHeaders(headers);
  return headers;
}

const JSON_TYPES = ["application/json", "application/connect+json"];

/**
 * Writes the headers of a body as connect compares them. HTTP lets clients quote a charset, add parameters and write
 * codings in any case (RFC 9110 §8.3, §8.4.1), and REST takes that.
 */
function plainBodyHeaders(headers: Headers): void {
  const type = headers.get("content-type") ?? "";
  if (type.includes(";") && isAccepted(type, JSON_TYPES))
    headers.set("content-type", type.slice(0, type.indexOf(";")).trim());
  const coding = headers.get("content-encoding")?.toLowerCase();
  if (coding === "") headers.delete("content-encoding");
  else if (coding !== undefined) headers.set("content-encoding", coding === "x-gzip" ? "gzip" : coding);
}

function bodyOf(request: NodeRequest): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array> };
}

/**
 * Returns a signal that is aborted when the client disconnects before the response is complete. `writableFinished` does
 * not show that: node ends the writable side of a stream that the client resets.
 */
function signalOf(request: NodeRequest, response: NodeResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableEnded) controller.abort(new ConnectError(resetReason(request), Code.Canceled));
  });
  return controller.signal;
}

function resetReason(request: NodeRequest): string {
  const { stream } = request as Partial<Http2ServerRequest>;
  return stream === undefined ? "the connection was closed" : `the stream was reset (${stream.rstCode})`;
}

/** Sends the head of a stream before its first message. */
export function sendHead(header: Headers, to: NodeResponse, extra: Readonly<Record<string, string>>): void {
  if (to.destroyed || to.headersSent) return;
  writeHead({ status: 200, header }, to, extra, undefined);
  (to as ServerResponse).flushHeaders();
}

/** Writes connect's response. With `unary` there is one message, and head, body and trailers are sent together. */
export async function writeResponse(
  from: UniversalServerResponse,
  to: NodeResponse,
  unary: boolean,
  extra: Readonly<Record<string, string>>,
): Promise<void> {
  const body = from.body?.[Symbol.asyncIterator]();
  try {
    let chunk = body === undefined ? undefined : await body.next();
    if (unary && chunk?.done === false) {
      const { value } = chunk;
      chunk = await body?.next();
      if (chunk?.done !== false) {
        writeHead(from, to, extra, value.byteLength);
        addTrailers(from, to);
        if ((to as ServerResponse).req.method === "HEAD") to.end();
        else endInPieces(to, value);
        return;
      }
      writeHead(from, to, extra, undefined);
      await writeAll(to, value);
    } else {
      // Unless the implementation had the head sent, it may set headers until the first read.
      if (!to.headersSent) writeHead(from, to, extra, chunk?.done === false ? undefined : 0);
    }
    for (; chunk?.done === false; chunk = await body?.next()) await writeAll(to, chunk.value);
    addTrailers(from, to);
    to.end();
  } catch (error) {
    await body?.throw?.(error).catch(() => undefined);
    throw error;
  } finally {
    void body?.return?.().catch(() => undefined);
  }
}

function writeHead(
  from: UniversalServerResponse,
  to: NodeResponse,
  extra: Readonly<Record<string, string>>,
  length: number | undefined,
): void {
  const headers = nodeHeaders(from.header);
  for (const name in extra) headers[name] ??= extra[name] as string;
  // Caches may keep the response to a GET of Connect.
  if (headers["content-encoding"] !== undefined) headers["vary"] = varying(to, "accept-encoding", headers["vary"]);
  if (length !== undefined && from.trailer === undefined) headers["content-length"] ??= String(length);
  to.writeHead(from.status, headers);
}

function addTrailers(from: UniversalServerResponse, to: NodeResponse): void {
  if (from.trailer !== undefined) (to as ServerResponse).addTrailers(nodeHeaders(from.trailer));
}

/** Converts headers for node. */
export function nodeHeaders(headers: Headers | undefined): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  headers?.forEach((value, name) => {
    const before = out[name]; // only set-cookie occurs more than once
    out[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  });
  return out;
}

function writeAll(to: NodeResponse, chunk: Uint8Array): Promise<void> | undefined {
  return chunk.length <= PIECE_BYTES ? write(to, chunk) : writePieces(to, chunk);
}

async function writePieces(to: NodeResponse, chunk: Uint8Array): Promise<void> {
  for (const piece of piecesOf(chunk)) await write(to, piece);
}

/** Writes a chunk and waits while the client reads more slowly; rejects when it has disconnected. */
function write(to: NodeResponse, chunk: string | Uint8Array): Promise<void> | undefined {
  if (to.destroyed || to.writableEnded) throw new ConnectError("the client is gone", Code.Canceled);
  if (to.write(chunk)) return undefined;
  return new Promise((resolve, reject) => {
    const done = (): void => {
      to.off("drain", done);
      to.off("close", done);
      if (to.destroyed && !to.writableEnded) reject(new ConnectError("the client is gone", Code.Canceled));
      else resolve();
    };
    to.once("drain", done);
    to.once("close", done);
  });
}
