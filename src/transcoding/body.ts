import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Refusal } from "./refusal.ts";
import { isAccepted } from "./media.ts";
import type { NodeRequest } from "./types.ts";

const inflate = promisify(gunzip);
const nothing = Buffer.alloc(0);

/** True when a body follows the headers, according to the headers. */
export function hasBody(request: NodeRequest): boolean {
  const { headers } = request;
  const length = headers["content-length"];
  if (length !== undefined) return length !== "0";
  if (request.httpVersionMajor < 2) return headers["transfer-encoding"] !== undefined;
  return !("stream" in request) || !request.stream.endAfterHeaders;
}

function tooLarge(limit: number): Refusal {
  return new Refusal("payload_too_large", `the body is larger than ${limit} bytes`);
}

function takesAnything(taken: readonly string[]): boolean {
  return taken.includes("*/*");
}

function mediaType(taken: readonly string[]): Refusal {
  return new Refusal("unsupported_media_type", `the body must be ${taken.join(" or ")}`, {
    headers: { accept: taken.join(", ") },
  });
}

/**
 * Checks the headers of a body that is about to be read.
 * @throws {unsupported_media_type} when the content type or coding is not accepted
 * @throws {payload_too_large} when the announced length exceeds the limit
 */
export function checkBodyHeaders(request: NodeRequest, taken: readonly string[], limit: number): void {
  const { headers } = request;
  const type = headers["content-type"];
  // Without a length, only reading shows whether there is a body that needs a type.
  const untyped = type === undefined && headers["content-length"] !== undefined;
  if (untyped ? !takesAnything(taken) : type !== undefined && type !== taken[0] && !isAccepted(type, taken))
    throw mediaType(taken);
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding !== "" && !/^(?:x-)?gzip$|^identity$/i.test(coding)) {
    throw new Refusal("unsupported_media_type", "the body may be coded with gzip only", {
      headers: { "accept-encoding": "gzip" },
    });
  }
  if (Number(headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
}

/**
 * Reads a body and inflates gzip.
 * @throws {payload_too_large} when it exceeds the limit
 * @throws {unsupported_media_type} when it has no content type
 * @throws {malformed_body} when the gzip is broken
 */
export function readBody(request: NodeRequest, taken: readonly string[], limit: number): Buffer | Promise<Buffer> {
  const bytes =
    request.headers["content-type"] === undefined ? untyped(collect(request, limit), taken) : collect(request, limit);
  const coding = request.headers["content-encoding"];
  if (coding === undefined || coding === "" || coding.toLowerCase() === "identity") return bytes;
  return inflated(bytes, limit);
}

async function untyped(read: Buffer | Promise<Buffer>, taken: readonly string[]): Promise<Buffer> {
  const bytes = await read;
  if (bytes.length > 0 && !takesAnything(taken)) throw mediaType(taken);
  return bytes;
}

async function inflated(coded: Buffer | Promise<Buffer>, limit: number): Promise<Buffer> {
  const bytes = await coded;
  if (bytes.length === 0) return bytes;
  try {
    return await inflate(bytes, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limit);
    throw new Refusal("malformed_body", "the body is not valid gzip");
  }
}

function collect(request: NodeRequest, limit: number): Buffer | Promise<Buffer> {
  return hasArrived(request) ? take(request, limit) : receive(request, limit);
}

/** Whether the whole body waits to be read, as nearly every one over HTTP/1.1 does once its caller is known. */
function hasArrived(request: NodeRequest): boolean {
  return !("stream" in request) && request.complete;
}

/** Reads a body that has arrived, without the listeners and turns that a stream takes. */
function take(request: NodeRequest, limit: number): Buffer {
  if (request.readableLength > limit) throw tooLarge(limit);
  return (request.read() as Buffer | null) ?? nothing;
}

function receive(request: NodeRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let size = 0;
    let over = false;
    const onData = (chunk: Buffer): void => {
      if (over) return;
      size += chunk.length;
      if (size > limit) {
        over = true;
        request.pause();
        first = more = undefined;
        reject(tooLarge(limit));
      } else if (first === undefined) first = chunk;
      else (more ??= [first]).push(chunk);
    };
    const onEnd = (): void => {
      over = true;
      resolve(more === undefined ? (first ?? nothing) : Buffer.concat(more, size));
    };
    // When the client disconnects, the response's `close` ends the call, and this promise stays pending.
    request.on("data", onData).on("end", onEnd);
  });
}
