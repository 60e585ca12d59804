import { constants } from "node:http2";
import { hasBody } from "../transcoding/index.ts";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import type { Account } from "./connections.ts";
import { createChunkFilter } from "./patches/node-body-chunks.ts";

/** Maximum bytes held for one address, always on: bodies being collected and responses not yet taken. */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

/** Larger bodies are not collected: the size limit of every route refuses them. */
const MAX_COLLECTED_BYTES = 1024 * 1024;

/** Counts the request bodies held for each address. */
export interface BodyBuffers {
  /** Counts the body of a request as it arrives; the stream or connection of one that does not fit is reset. */
  count(request: NodeRequest, response: NodeResponse, account: Account): void;
  /** Returns whether the body that a request announces exceeds the limit. */
  refuses(request: NodeRequest): boolean;
  /** Stops counting the body of a request, which is no longer needed. */
  release(request: object): void;
}

/**
 * Names the count of a request's body, on the request and on its response. An entry of a WeakMap for each request costs
 * the garbage collector more than reading the body does.
 */
const BODY = Symbol("body");

interface Body {
  readonly account: Account;
  bytes: number;
  /** Bytes that still arrive are discarded. */
  released: boolean;
}

type Counted<T> = T & { [BODY]?: Body };

/** Creates the counter. */
export function createBodyBuffers(maxBytes: number): BodyBuffers {
  const filterChunks = createChunkFilter((request: Counted<NodeRequest>, { length }) => {
    const body = request[BODY];
    if (body === undefined || body.released) return true;
    body.bytes += length;
    body.account.bodyBytes += length;
    if (heldBytes(body.account) <= maxBytes) return true;
    reset(request);
    return false;
  });

  return {
    count(request: Counted<NodeRequest>, response: Counted<NodeResponse>, account) {
      if (!hasBody(request)) return;
      request[BODY] = response[BODY] = { account, bytes: 0, released: false };
      filterChunks(request);
      response.on("close", onClose);
    },
    refuses(request: Counted<NodeRequest>) {
      const body = request[BODY];
      if (body === undefined) return false;
      const announced = Math.min(Number(request.headers["content-length"] ?? 0), MAX_COLLECTED_BYTES);
      return heldBytes(body.account) + announced > maxBytes;
    },
    release,
  };
}

function release(of: Counted<object>): void {
  const body = of[BODY];
  if (body === undefined) return;
  body.account.bodyBytes -= body.bytes;
  body.bytes = 0;
  body.released = true;
}

/** One listener for all responses. */
function onClose(this: NodeResponse): void {
  release(this);
}

/** Returns the bytes held for an address. */
export function heldBytes({ bodyBytes, unreadBytes }: Account): number {
  return bodyBytes + unreadBytes;
}

function reset(request: NodeRequest): void {
  if ("stream" in request) request.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else request.socket.destroy();
}
