import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { hasBody } from "../transcoding/index.ts";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import type { Account } from "./connections.ts";
import { onBodyChunk } from "./patches/node-body-chunks.ts";

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

/** Creates the counter. */
export function createBodyBuffers(maxBytes: number): BodyBuffers {
  const bodies = new WeakMap<object, Body>();

  function release(request: object): void {
    const body = bodies.get(request);
    if (body === undefined) return;
    body.account.bodyBytes -= body.bytes;
    body.bytes = 0;
    body.released = true;
  }

  return {
    count(request, response, account) {
      if (!hasBody(request)) return;
      const body: Body = { account, bytes: 0, released: false };
      bodies.set(request, body);
      onBodyChunk(request, (chunk) => {
        if (body.released) return true;
        body.bytes += chunk.length;
        account.bodyBytes += chunk.length;
        if (heldBytes(account) <= maxBytes) return true;
        reset(request);
        return false;
      });
      (response as ServerResponse).once("close", () => release(request));
    },
    refuses(request) {
      const body = bodies.get(request);
      if (body === undefined) return false;
      const announced = Math.min(Number(request.headers["content-length"] ?? 0), MAX_COLLECTED_BYTES);
      return heldBytes(body.account) + announced > maxBytes;
    },
    release,
  };
}

interface Body {
  readonly account: Account;
  bytes: number;
  /** Bytes that still arrive are discarded. */
  released: boolean;
}

/** Returns the bytes held for an address. */
export function heldBytes({ bodyBytes, unreadBytes }: Account): number {
  return bodyBytes + unreadBytes;
}

function reset(request: NodeRequest): void {
  if ("stream" in request) request.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else request.socket.destroy();
}
