import type { IncomingMessage, ServerResponse } from "node:http";
import { constants as h2 } from "node:http2";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { hasBody } from "./body.ts";
import { replaceClose } from "./patches/node-delayed-close.ts";
import type { NodeRequest, NodeResponse } from "./types.ts";

/** Default size of an unread body that is received rather than closing the connection. */
export const DRAIN_BYTES = 64 * 1024;

/** How long, and for how many bytes, a client may go on sending after its response. */
const LINGER_MS = 400;
const LINGER_BYTES = 4 * 1024 * 1024;
/** How long the rest of a stream's window may take to arrive before the stream is reset. */
const SETTLE_MS = 100;

const released = new WeakSet<ServerHttp2Stream>();
const answeredEarly = new WeakSet<ServerHttp2Stream>();

/** Whether the stream's response was complete before its request: the client may reset it then. */
export function isAnsweredEarly(stream: ServerHttp2Stream): boolean {
  return answeredEarly.has(stream);
}

/**
 * Arranges for the body of a request whose response does not wait for it. Call it before the response is written, any
 * number of times. What arrives after the response is discarded, within limits. Beyond them an HTTP/2 stream is reset
 * and an HTTP/1.1 connection closed. Unread bytes would otherwise use up the flow-control window of their connection.
 *
 * An HTTP/1.1 connection is kept alive if at most `drainBytes` are announced, or the body has arrived when the response
 * is written.
 */
export function releaseBody(request: NodeRequest, response: NodeResponse, drainBytes = DRAIN_BYTES): void {
  if (!hasBody(request)) return;
  if ("stream" in request) releaseStream(request.stream);
  else releaseConnection(request, response as ServerResponse, drainBytes);
}

function releaseStream(stream: ServerHttp2Stream): void {
  if (released.has(stream)) return;
  released.add(stream);
  stream.once("finish", () => {
    if (stream.readableEnded || stream.destroyed) return;
    answeredEarly.add(stream);
    // By then node has reset the stream if nothing was ever read of it and its response has no trailers.
    setImmediate(() => {
      if (!stream.closed) lingerThenReset(stream);
    });
  });
}

/**
 * Resolves when the body of a refused HTTP/2 request has arrived, thrown away, or has used up its bounds; undefined
 * where there is nothing to wait for. A client that is refused before it has sent everything resets its stream and
 * opens the next one at once, faster than node lets go of streams, and has that one refused.
 */
export function bodyArrived(request: NodeRequest): Promise<void> | undefined {
  if (!("stream" in request) || !request.readableDidRead) return undefined;
  const { stream } = request;
  if (stream.readableEnded || stream.destroyed || stream.endAfterHeaders) return undefined;
  return new Promise((resolve) => throwAway(stream, resolve));
}

/** Resets the stream when what still arrives takes long: trailers have reached the client by then. */
function lingerThenReset(stream: ServerHttp2Stream): void {
  throwAway(stream, () => {
    if (stream.destroyed) return;
    // Without new window the client stops by itself; frames that arrive after a reset would count as its misbehaviour.
    stream.pause();
    const reset = (): void => {
      stream.close(h2.NGHTTP2_NO_ERROR); // RFC 9113 §8.1
      stream.resume(); // a stream with unread bytes is never destroyed
    };
    // What arrived while the process was busy is read first. A reset is sent after the next read, and until then its
    // stream counts against the limit of its connection although the client may have ended it and opened another.
    const timer = setTimeout(() => setImmediate(reset), SETTLE_MS);
    stream.once("close", () => clearTimeout(timer));
  });
}

function throwAway(stream: ServerHttp2Stream, done: () => void): void {
  let left = LINGER_BYTES;
  const stop = (): void => {
    clearTimeout(timer);
    stream.off("end", stop).off("close", stop);
    left = -1;
    done();
  };
  const timer = setTimeout(stop, LINGER_MS);
  // The request object hands on nothing more, and cannot hold the stream back by being full.
  stream.removeAllListeners("data");
  stream.on("data", (chunk: Buffer) => {
    if (left >= 0 && (left -= chunk.length) < 0) stop();
  });
  stream.on("end", stop).on("close", stop);
  stream.resume();
}

function releaseConnection(request: IncomingMessage, response: ServerResponse, drainBytes: number): void {
  if (response.listenerCount("prefinish", discardRest) > 0) return;
  const small = Number(request.headers["content-length"] ?? Infinity) <= drainBytes;
  if (!small && response.shouldKeepAlive) {
    response.shouldKeepAlive = false;
    request.once("end", () => (response.shouldKeepAlive = true));
  }
  response.on("prefinish", discardRest);
}

/** One listener for all responses: a closure or a set entry per request costs 3 % of a small POST. */
function discardRest(this: ServerResponse): void {
  const { req: request } = this;
  const isRead = request.readableEnded || (request.complete && request.readableLength === 0);
  if (!isRead && !request.socket.destroyed) discard(request, request.socket);
}

/**
 * Throws away what still arrives. A connection that node closes after the response is closed as in RFC 9112 §9.6: bytes
 * unread when a socket closes would reset it before the client has the response.
 */
function discard(request: IncomingMessage, socket: Socket): void {
  let left = LINGER_BYTES;
  let timer: NodeJS.Timeout | undefined;
  request.removeAllListeners("readable");
  request.removeAllListeners("data");
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  const restoreClose = replaceClose(socket, () => {
    timer ??= setTimeout(() => socket.destroy(), LINGER_MS);
    socket.end();
  });
  const stop = (): void => clearTimeout(timer);
  socket.once("close", stop);
  request.once("end", () => {
    // The connection goes on to its next request: nothing of this one stays with it.
    socket.off("close", stop);
    restoreClose();
    if (timer !== undefined) socket.destroySoon();
  });
}
