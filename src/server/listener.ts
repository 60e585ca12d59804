import { createServer as createHttp1 } from "node:http";
import type { IncomingMessage, Server as Http1Server, ServerResponse } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { Http2Server, ServerHttp2Session } from "node:http2";
import { createServer as createNet } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import { answerClientError } from "./client-error.ts";
import { watchHeaders } from "./slow-headers.ts";
import type { HeaderWatch } from "./slow-headers.ts";

/** Patience with slow clients, in milliseconds, and sizes in bytes (decisions 15.9). */
export interface TransportLimits {
  headersMs: number;
  bodyMs: number;
  idleMs: number;
  headerBytes: number;
  /** Streams of one HTTP/2 connection at a time. */
  streams: number;
}

/** What decisions 15.9 say. */
export const defaultLimits: TransportLimits = { headersMs: 10_000, bodyMs: 30_000, idleMs: 60_000, headerBytes: 16 * 1024, streams: 128 };

/** Where to listen and how. */
export interface ListenerOptions {
  host: string;
  /** 0: any free one. */
  port: number;
  /** PEM; TLS with ALPN instead of plain text. */
  tls: { cert: string | Buffer; key: string | Buffer } | undefined;
  limits: TransportLimits;
  handler: (request: NodeRequest, response: NodeResponse) => void;
}

/** One port with HTTP/1.1 and HTTP/2 on it. */
export interface Listener {
  /** Resolves when connections are taken; rejects with node's error, `EADDRINUSE` for a port in use. */
  listen(): Promise<void>;
  address(): AddressInfo;
  /** Stops taking connections, lets what runs finish for `graceMs`, then destroys what is left. */
  close(graceMs: number): Promise<void>;
}

/** Makes a listener. Which HTTP a plain connection speaks is told by its first bytes, of a TLS connection by ALPN. */
export function createListener(options: ListenerOptions): Listener {
  const { limits } = options;
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let closing = false;

  const http1 = http1Server(limits, (request, response) => {
    if (closing) response.shouldKeepAlive = false;
    limitBody(request, limits.bodyMs);
    options.handler(request, response);
  });
  const headers = watchHeaders(limits.headersMs);
  const http2 = http2Server(limits, sessions, headers);
  http2.on("request", options.handler);

  const hand = (socket: Socket, h2: boolean): boolean => {
    // Half an HTTP/2 connection is none: a client that says nothing more cannot even acknowledge.
    if (h2) socket.once("end", () => socket.destroySoon());
    return (h2 ? http2 : http1).emit("connection", socket);
  };
  const outer: Server =
    options.tls === undefined
      ? createNet({ allowHalfOpen: true, noDelay: true }, (socket) => sniff(track(socket), limits, hand))
      : createTls(
          { ...options.tls, allowHalfOpen: true, noDelay: true, ALPNProtocols: ["h2", "http/1.1"], minVersion: "TLSv1.2", handshakeTimeout: limits.headersMs },
          (socket: TLSSocket) => hand(track(socket), socket.alpnProtocol === "h2"),
        );
  outer.on("tlsClientError", (_error, socket: TLSSocket) => socket.destroy());

  function track(socket: Socket): Socket {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    return socket;
  }

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        outer.once("error", reject);
        outer.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
          outer.off("error", reject);
          outer.on("error", () => undefined); // EMFILE and the like: the next connection may be luckier
          resolve();
        });
      }),
    address: () => outer.address() as AddressInfo,
    async close(graceMs) {
      closing = true;
      const closed = new Promise<void>((resolve) => outer.close(() => resolve()));
      for (const session of sessions) session.close();
      const idle = setInterval(() => http1.closeIdleConnections(), 25);
      http1.closeIdleConnections();
      const patience = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed;
      clearInterval(idle);
      clearTimeout(patience);
      http1.close();
      http2.close();
      headers.stop();
    },
  };
}

const preface = Buffer.from("PRI");

/** Reads until it is clear which protocol the client speaks, puts the bytes back and hands the socket on. */
function sniff(socket: Socket, limits: TransportLimits, hand: (socket: Socket, h2: boolean) => void): void {
  let timer = setTimeout(() => socket.destroy(), limits.idleMs);
  let held: Buffer | undefined;
  const onReadable = (): void => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    const before = held;
    held = before === undefined ? bytes : Buffer.concat([before, bytes]);
    const known = Math.min(held.length, preface.length);
    const h2 = held.subarray(0, known).equals(preface.subarray(0, known));
    if (h2 && known < preface.length) {
      if (before !== undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), limits.headersMs);
      return;
    }
    stop();
    socket.unshift(held);
    hand(socket, h2);
  };
  const onEnd = (): void => {
    stop();
    socket.destroy();
  };
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("readable", onReadable);
    socket.off("end", onEnd);
    socket.off("close", stop);
  };
  socket.on("readable", onReadable);
  socket.on("end", onEnd);
  socket.on("close", stop);
}

function http1Server(limits: TransportLimits, handler: (request: IncomingMessage, response: ServerResponse) => void): Http1Server {
  const server = createHttp1(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.headersMs + limits.bodyMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs / 2),
      requireHostHeader: false, // the routes refuse it, with a body that says so
    },
    handler,
  );
  server.keepAliveTimeoutBuffer = 0;
  server.on("clientError", answerClientError);
  // `Expect: 100-continue` is answered when the body is about to be read; of any other expectation nothing is made (RFC 9110, 10.1.1 allows it).
  server.on("checkExpectation", handler);
  // Nobody listens to "upgrade": a client that offers another protocol (Java's offers h2c) is answered in this one.
  server.on("connect", (_request, socket) => socket.destroy());
  // The server never listens itself; this is what starts its checks for slow clients.
  server.emit("listening");
  return server;
}

function http2Server(limits: TransportLimits, sessions: Set<ServerHttp2Session>, headers: HeaderWatch): Http2Server {
  const server = createHttp2({
    // Twice the limit, so that a block between the two can be answered with 431; beyond it the stream is reset.
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: 2 * limits.headerBytes, enablePush: false, initialWindowSize: 256 * 1024 },
    maxHeaderListPairs: 200,
    maxSessionInvalidFrames: 50,
    maxSessionRejectedStreams: 100,
    streamResetBurst: 400,
    streamResetRate: 50,
    maxSettings: 32,
  });
  server.on("session", (session) => {
    sessions.add(session);
    headers.add(session);
    let open = 0;
    session.on("stream", (stream) => {
      open++;
      stream.on("close", () => open--);
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

/** A body has to be there in time; what does not come is answered as node answers slow headers. */
function limitBody(request: IncomingMessage, bodyMs: number): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  const timer = setTimeout(() => {
    if (!request.complete) answerClientError(Object.assign(new Error("the body is late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }, bodyMs);
  const stop = (): void => clearTimeout(timer);
  request.once("end", stop);
  request.once("close", stop);
}
