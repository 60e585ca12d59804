import { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { NodeResponse } from "./types.ts";

/** Size of a piece of a large response. Node completes a write only when the client has received all of it. */
export const PIECE_BYTES = 64 * 1024;

/** Bytes that wait for their piece's turn, by HTTP/2 stream or HTTP/1.1 connection. */
const heldBack = new WeakMap<object, number>();

/** Bytes of responses on this stream or connection that are not written yet, beyond `writableLength`. */
export function heldBackBytes(of: object): number {
  return heldBack.get(of) ?? 0;
}

/**
 * Writes a body and ends the response. A large body is written in pieces, each after the client received the last one,
 * so that the progress of a slow reader shows.
 */
export function endInPieces(
  to: NodeResponse | ServerHttp2Stream,
  body: string | Uint8Array,
  encoding: BufferEncoding = "utf8",
): void {
  const writable = to as ServerResponse;
  if (body.length <= PIECE_BYTES) return void writable.end(body, encoding);
  const bytes = typeof body === "string" ? Buffer.from(body, encoding) : body;
  const key = keyOf(to);
  const hold = (change: number): unknown => heldBack.set(key, heldBackBytes(key) + change);
  let at = 0;
  const next = (error?: Error | null): void => {
    if ((error ?? undefined) !== undefined || to.destroyed) return void hold(at - bytes.length);
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    at += piece.length;
    hold(-piece.length);
    if (at >= bytes.length) writable.end(piece);
    else writable.write(piece, next);
  };
  hold(bytes.length);
  next();
}

/** The pieces of a chunk of a stream, for a writer that waits for `drain`. */
export function* piecesOf(chunk: string | Uint8Array): Generator<string | Uint8Array> {
  if (chunk.length <= PIECE_BYTES) {
    yield chunk;
    return;
  }
  const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

function keyOf(to: NodeResponse | ServerHttp2Stream): object {
  if ("stream" in to) return to.stream;
  return to instanceof ServerResponse ? to.req.socket : to;
}
