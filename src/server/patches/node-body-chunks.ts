/**
 * Sees the chunks of a request body as they arrive, before they are buffered. A `data` listener would start the body
 * flowing, and node has no event for bytes that wait in the buffer; it passes every chunk to `push` of the request.
 *
 * @patches node 24.21.0
 * @upstream none: node's parsers call `push` of the request, which is public for implementers of streams only
 */
import { Readable } from "node:stream";
import type { NodeRequest } from "../../transcoding/index.ts";

/** Passes each chunk to `accept` before it is buffered; a chunk that is not accepted is dropped. */
export function onBodyChunk(request: NodeRequest, accept: (chunk: Buffer) => boolean): void {
  const push = Readable.prototype.push as (this: NodeRequest, chunk: unknown, encoding?: BufferEncoding) => boolean;
  request.push = (chunk: Buffer | null, encoding) =>
    chunk === null || accept(chunk) ? push.call(request, chunk, encoding) : true;
}
