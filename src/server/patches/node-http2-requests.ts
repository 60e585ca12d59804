/**
 * Serves single HTTP/2 streams through node's request and response objects. Node creates these for every stream of a
 * server that has a `request` listener. A separate server without connections creates them for the given streams only,
 * so that other streams do without.
 *
 * @patches node 24.21.0
 * @upstream none: node creates the objects in a `stream` listener of the server, and needs nothing else of the server
 */
import { createServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";

type RequestListener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** A stream of the event `stream` with its headers. */
export interface StreamEvent {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly flags: number;
  readonly rawHeaders: readonly string[];
}

/** Returns a function that serves a stream by `onRequest`, or by `onExpectContinue` when it expects `100 Continue`. */
export function createStreamHandler(
  onRequest: RequestListener,
  onExpectContinue: RequestListener,
): (event: StreamEvent) => void {
  const server = createServer();
  server.on("request", onRequest);
  server.on("connect", onRequest); // without it node responds, with no error body, and leaves the stream open
  server.on("checkContinue", onExpectContinue);
  return ({ stream, headers, flags, rawHeaders }) => void server.emit("stream", stream, headers, flags, rawHeaders);
}
