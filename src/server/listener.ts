import { createServer as createHttp1 } from "node:http";
import type { IncomingMessage, Server as Http1Server, ServerResponse } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type {
  Http2ServerRequest,
  Http2ServerResponse,
  Http2Session,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import { createServer as createNet } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import { answerClientError } from "./client-error.ts";
import { MAX_BUFFERED_BYTES } from "./buffers.ts";
import type { BodyBuffers } from "./buffers.ts";
import { createAddresses, MAX_CONNECTIONS } from "./connections.ts";
import type { Account } from "./connections.ts";
import { continueWhenRead } from "./expectation.ts";
import type { UnaryGrpc } from "./grpc-unary.ts";
import { http2Server } from "./http2.ts";
import { watchReaders } from "./readers.ts";
import { watchHeaders } from "./slow-headers.ts";

/** Patience with slow clients, in milliseconds, and sizes in bytes (decisions 15.9). */
export interface TransportLimits {
  headersMs: number;
  bodyMs: number;
  idleMs: number;
  headerBytes: number;
  /** Streams of one HTTP/2 connection at a time. */
  streams: number;
  /** Connections of one address at a time. */
  connections: number;
  /** Bytes held for one address: bodies being collected, and answers not yet taken. */
  bufferedBytes: number;
}

/** What decisions 13 and 15.9 say. */
export const defaultLimits: TransportLimits = {
  headersMs: 10_000,
  bodyMs: 30_000,
  idleMs: 60_000,
  headerBytes: 16 * 1024,
  streams: 128,
  connections: MAX_CONNECTIONS,
  bufferedBytes: MAX_BUFFERED_BYTES,
};

/** Where to listen and how. */
export interface ListenerOptions {
  host: string;
  /** 0: any free one. */
  port: number;
  /** PEM; TLS with ALPN instead of plain text. */
  tls: { cert: string | Buffer; key: string | Buffer } | undefined;
  limits: TransportLimits;
  /** Whether an address is a trusted proxy's, whose connections are not counted. */
  isTrusted: (address: string) => boolean;
  handler: (request: NodeRequest, response: NodeResponse) => void;
  bodies: BodyBuffers;
  /** Is shown every HTTP/2 stream first. */
  unaryGrpc: UnaryGrpc;
}

/** One port with HTTP/1.1 and HTTP/2 on it. */
export interface Listener {
  /** Resolves when connections are taken; rejects with node's error, `EADDRINUSE` for a port in use. */
  listen(): Promise<void>;
  address(): AddressInfo;
  /**
   * Tells clients to go elsewhere: connections are closed after their next answer. New ones are still taken. Resolves
   * when nothing is in flight that was so before; health watches, which never end, are not waited for.
   */
  drain(): Promise<void>;
  /** Stops taking connections, lets what runs finish for `graceMs`, then destroys what is left. */
  close(graceMs: number): Promise<void>;
}

/** Makes a listener. Which HTTP a plain connection speaks is told by its first bytes, of a TLS connection by ALPN. */
export function createListener(options: ListenerOptions): Listener {
  const { limits } = options;
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const requests = countRequests();
  let draining = false;

  const addresses = createAddresses(options.isTrusted, limits.connections);
  const accounts = new WeakMap<Socket | Http2Session, Account>();
  const http1 = http1Server(limits, (request, response) => {
    if (response.socket === null) readers.addQueued(request.socket, response);
    const account = accounts.get(request.socket);
    if (account !== undefined) options.bodies.count(request, response, account);
    if (draining) response.shouldKeepAlive = false;
    else requests.add(response);
    limitBody(request, response, limits.bodyMs);
    options.handler(request, response);
  });
  const headers = watchHeaders(limits.headersMs);
  const readers = watchReaders(limits);
  const http2 = http2Server(limits, sessions, headers);
  // Node makes request and response for the listeners of a server's `request`; streams that need none go past them.
  const compatible = createHttp2();
  const handle2 = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const { session } = request.stream;
    const account = session === undefined ? undefined : accounts.get(session);
    if (account !== undefined) options.bodies.count(request, response, account);
    options.handler(request, response);
  };
  compatible.on("request", handle2);
  compatible.on("checkContinue", (request, response) => handle2(continueWhenRead(request, response), response));
  // Emitted while the connection is handed over.
  let handedOver: Socket | undefined;
  http2.on("session", (session) => {
    if (handedOver === undefined) return;
    const account = addresses.accountOf(handedOver);
    if (account !== undefined) accounts.set(session, account);
    readers.addSession(session, handedOver, account);
  });
  http2.on("stream", (stream, requestHeaders, flags, rawHeaders) => {
    readers.addStream(stream);
    if (draining) stream.session?.close();
    else if (requestHeaders[":path"] !== HEALTH_WATCH) requests.add(stream);
    const otherwise = (): void => void compatible.emit("stream", stream, requestHeaders, flags, rawHeaders);
    if (draining) otherwise();
    else options.unaryGrpc({ stream, headers: requestHeaders, rawHeaders }, otherwise);
  });

  const hand = (socket: Socket, h2: boolean): boolean => {
    silent.delete(socket);
    // Half an HTTP/2 connection is none: a client that says nothing more cannot even acknowledge.
    if (h2) {
      socket.once("end", () => socket.destroySoon());
      handedOver = socket;
      return http2.emit("connection", socket);
    }
    const account = addresses.accountOf(socket);
    if (account !== undefined) accounts.set(socket, account);
    readers.addSocket(socket, account);
    return http1.emit("connection", socket);
  };
  const outer: Server =
    options.tls === undefined
      ? createNet({ allowHalfOpen: true, noDelay: true }, (socket) => {
          if (!socket.destroyed) sniff(track(socket), limits, hand);
        })
      : createTls(
          {
            ...options.tls,
            allowHalfOpen: true,
            noDelay: true,
            ALPNProtocols: ["h2", "http/1.1"],
            minVersion: "TLSv1.2",
            handshakeTimeout: limits.headersMs,
          },
          (socket: TLSSocket) => hand(track(socket), socket.alpnProtocol === "h2"),
        );
  // Before anything else is done for the connection, a TLS handshake included.
  outer.prependListener("connection", (socket: Socket) => {
    if (!addresses.admit(socket)) socket.resetAndDestroy();
  });
  outer.on("tlsClientError", (_error, socket: TLSSocket) => socket.destroy());

  function track(socket: Socket): Socket {
    sockets.add(socket);
    silent.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      silent.delete(socket);
    });
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
    drain() {
      draining = true;
      for (const session of sessions) session.close();
      http1.closeIdleConnections();
      return requests.none();
    },
    async close(graceMs) {
      draining = true;
      for (const socket of silent) socket.destroy();
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
      readers.stop();
    },
  };
}

/** Streams of this path are open for as long as their clients run. */
const HEALTH_WATCH = "/grpc.health.v1.Health/Watch";

/** Counts what is in flight. */
function countRequests(): { add(request: ServerResponse | ServerHttp2Stream): void; none(): Promise<void> } {
  let count = 0;
  let settle: (() => void) | undefined;
  const done = (): void => {
    if (--count === 0) settle?.();
  };
  return {
    add(request) {
      count++;
      request.on("close", done);
    },
    none: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => (settle = resolve))),
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

function http1Server(
  limits: TransportLimits,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Http1Server {
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
  server.on("checkContinue", (request, response) => handler(continueWhenRead(request, response), response));
  // Of any other expectation nothing is made (RFC 9110, 10.1.1 allows it).
  server.on("checkExpectation", handler);
  // Nobody listens to "upgrade": a client that offers another protocol (Java's offers h2c) is answered in this one.
  server.on("connect", (_request, socket) => socket.destroy());
  // The server never listens itself; this is what starts its checks for slow clients.
  server.emit("listening");
  return server;
}

/** A body has to be there in time; what does not come is answered as node answers slow headers. */
function limitBody(request: IncomingMessage, response: ServerResponse, bodyMs: number): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  const timer = setTimeout(() => {
    if (response.writableEnded) socket.destroy();
    else if (!request.complete)
      answerClientError(Object.assign(new Error("the body is late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }, bodyMs);
  const stop = (): void => clearTimeout(timer);
  request.once("end", stop);
  request.once("close", stop);
}
