/**
 * Sees the chunks of a request body as they arrive, before they are buffered. A `data` listener would start the body
 * flowing, and node has no event for bytes that wait in the buffer; it passes every chunk to `push` of the request.
 *
 * @patches node 24.21.0
 * @upstream none: node's parsers call `push` of the request, which is public for implementers of streams only
 */
import { Readable } from "node:stream";
import type { NodeRequest } from "../../transcoding/index.ts";

/** Returns what makes a request pass each chunk to `accept` before it is buffered; one not accepted is dropped. */
export function createChunkFilter(accept: (request: NodeRequest, chunk: Buffer) => boolean) {
  const push = Readable.prototype.push as (this: NodeRequest, chunk: unknown, encoding?: BufferEncoding) => boolean;
  function filtered(this: NodeRequest, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    return chunk === null || accept(this, chunk) ? push.call(this, chunk, encoding) : true;
  }
  // One function for all requests: a closure for each costs more than the count.
  return (request: NodeRequest): void => {
    request.push = filtered;
  };
}
