import { constants, createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { isAnsweredEarly } from "../transcoding/index.ts";
import type { TransportLimits } from "./listener.ts";
import type { HeaderWatch } from "./slow-headers.ts";

/** Streams a client may give up before it has their answers: at once, and for each second (CVE-2023-44487). */
const ABANDONED_BURST = 400;
const ABANDONED_PER_SECOND = 50;

/** Makes the server of HTTP/2 connections, and keeps the open ones in `sessions`. */
export function http2Server(
  limits: TransportLimits,
  sessions: Set<ServerHttp2Session>,
  headers: HeaderWatch,
): Http2Server {
  const server = createServer({
    // Twice the limit, so that a block between the two can be answered with 431; beyond it the stream is reset.
    settings: {
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: 2 * limits.headerBytes,
      enablePush: false,
      initialWindowSize: 256 * 1024,
    },
    maxHeaderListPairs: 200,
    maxSessionInvalidFrames: 50,
    maxSessionRejectedStreams: 100,
    // Node counts every reset, those of a client whose request was refused before it had sent it too. Ours are below.
    streamResetBurst: 50 * ABANDONED_BURST,
    streamResetRate: 100 * ABANDONED_PER_SECOND,
    maxSettings: 32,
    // Node refuses streams beyond this sum, in which it never takes off what a stream had still to write when it was
    // reset.
    maxSessionMemory: 1_000_000,
  });
  server.on("session", (session) => {
    sessions.add(session);
    headers.add(session);
    let open = 0;
    const abandoned = abandonedStreams(session);
    session.on("stream", (stream) => {
      open++;
      stream.on("close", () => {
        open--;
        abandoned(stream);
      });
    });
    session.on("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
    session.setTimeout(limits.idleMs, () => {
      if (open === 0) session.close();
    });
  });
  server.on("sessionError", () => undefined);
  return server;
}

/**
 * Ends a connection whose client keeps starting work that it does not want. A stream that is reset after its answer,
 * while the request was still being sent, is none of that: so do clients that are refused early.
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
