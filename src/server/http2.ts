import { constants, createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { isAnsweredEarly } from "../transcoding/index.ts";
import type { Connection } from "./connections.ts";
import { OpenStream } from "./open-streams.ts";
import type { OpenSession } from "./open-streams.ts";
import type { HeaderWatch } from "./slow-headers.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Streams a client may abandon before it has their responses: at once, and per second (CVE-2023-44487). */
const ABANDONED_BURST = 400;
const ABANDONED_PER_SECOND = 50;

/** What the HTTP/2 server reports. */
export interface Http2Options {
  limits: TransportLimits;
  headers: HeaderWatch;
  /** Returns the connection that is being handed over. */
  handedOver: () => Connection;
  onSession: (open: OpenSession) => void;
  onStream: (open: OpenStream) => void;
  onStreamClose: (open: OpenStream) => void;
}

/** Creates the server of HTTP/2 connections, which keeps the open ones in `sessions`. */
export function createHttp2Server(options: Http2Options, sessions: Set<ServerHttp2Session>): Http2Server {
  const { limits, headers } = options;
  const server = createServer({
    // Twice the limit, so that a block between the two gets a 431; beyond it the stream is reset.
    settings: {
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: 2 * limits.headerBytes,
      enablePush: false,
      initialWindowSize: 256 * 1024,
    },
    maxHeaderListPairs: 200,
    maxSessionInvalidFrames: 50,
    maxSessionRejectedStreams: 100,
    // Node counts every reset, including those of requests refused before they were sent in full. Ours are below.
    streamResetBurst: 50 * ABANDONED_BURST,
    streamResetRate: 100 * ABANDONED_PER_SECOND,
    maxSettings: 32,
    // Node refuses streams beyond this sum and never subtracts what a stream had left to write when it was reset.
    maxSessionMemory: 1_000_000,
  });
  server.on("session", (session) => {
    const { socket, account, clientCertificate } = options.handedOver();
    const peer = { remoteAddress: socket.remoteAddress };
    const open: OpenSession = { session, socket, account, clientCertificate, peer, streams: 0, opened: 0 };
    sessions.add(session);
    options.onSession(open);
    const noteHeaders = headers.add(open);
    // A trusted proxy carries the streams of many clients; for its connection, node's limits above apply.
    const noteClose = account === undefined ? undefined : abandonedStreams(session);
    // Not the server's event: there the connection would have to be looked up for each stream.
    session.on("stream", (stream, requestHeaders, flags, rawHeaders) => {
      open.streams++;
      open.opened++;
      noteHeaders(stream.id ?? 0);
      const entry = new OpenStream(open, stream, requestHeaders, flags, rawHeaders);
      stream.on("close", () => {
        open.streams--;
        noteClose?.(stream);
        options.onStreamClose(entry);
        entry.call?.closed();
        entry.call = undefined;
      });
      options.onStream(entry);
    });
    session.on("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  server.on("sessionError", () => undefined);
  return server;
}

/**
 * Destroys a connection whose client keeps abandoning the work it starts. A stream that is reset after its response,
 * while the request was still being sent, does not count: clients that are refused early do that.
 */
function abandonedStreams(session: ServerHttp2Session): (stream: ServerHttp2Stream) => void {
  let left = ABANDONED_BURST;
  let at = performance.now();
  return (stream) => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR || isAnsweredEarly(stream) || session.destroyed) return;
    const now = performance.now();
    left = Math.min(ABANDONED_BURST, left + ((now - at) / 1000) * ABANDONED_PER_SECOND) - 1;
    at = now;
    if (left < 0) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
}
