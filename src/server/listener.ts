import type { Http2ServerRequest, Http2ServerResponse, Http2Session, ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import { createAcceptor } from "./acceptor.ts";
import type { AcceptorOptions } from "./acceptor.ts";
import type { BodyBuffers } from "./buffers.ts";
import type { Connection } from "./connections.ts";
import type { UnaryGrpc } from "./grpc-unary.ts";
import { createBodyTimer, createHttp1Server } from "./http1.ts";
import { createHttp2Server } from "./http2.ts";
import { watchIdle } from "./idle-sessions.ts";
import { setClientCertificate } from "./mtls/client-certificate.ts";
import type { OpenStream } from "./open-streams.ts";
import { continueWhenRead } from "./patches/node-continue-when-read.ts";
import { createStreamHandler } from "./patches/node-http2-requests.ts";
import { watchReaders } from "./readers.ts";
import type { ReaderWatch } from "./readers.ts";
import { watchHeaders } from "./slow-headers.ts";

/** Where to listen, and what handles the requests. */
export interface ListenerOptions extends AcceptorOptions {
  handler: (request: NodeRequest, response: NodeResponse) => void;
  bodies: BodyBuffers;
  /** Gets every HTTP/2 stream first. */
  unaryGrpc: UnaryGrpc;
}

/** One port that serves HTTP/1.1 and HTTP/2. */
export interface Listener {
  /** Resolves when connections are accepted; rejects with node's error, `EADDRINUSE` for a port in use. */
  listen(): Promise<void>;
  address(): AddressInfo;
  /**
   * Closes connections after their next response; new ones are still accepted. Resolves when no request is in flight
   * that was so before; health watches, which never end, are not waited for.
   */
  drain(): Promise<void>;
  /** Stops accepting connections, lets requests finish for `graceMs`, then destroys the remaining connections. */
  close(graceMs: number): Promise<void>;
}

/** What the two protocols of a listener share. */
interface Shared {
  readonly options: ListenerOptions;
  readonly readers: ReaderWatch;
  /** Requests in flight. */
  readonly requests: RequestCount;
  isDraining: boolean;
}

/** The connections of one protocol. */
interface Protocol {
  serve(connection: Connection): void;
  /** Closes idle connections; the others close when their requests are complete. */
  closeIdle(): void;
  stop(): void;
}

/** Creates a listener. */
export function createListener(options: ListenerOptions): Listener {
  const readers = watchReaders(options.limits);
  const shared: Shared = { options, readers, requests: countRequests(), isDraining: false };
  const http1 = createHttp1(shared);
  const http2 = createHttp2(shared);
  const acceptor = createAcceptor(options, (connection, isHttp2) => (isHttp2 ? http2 : http1).serve(connection));
  return {
    listen: acceptor.listen,
    address: acceptor.address,
    drain() {
      shared.isDraining = true;
      http2.closeIdle();
      http1.closeIdle();
      return shared.requests.none();
    },
    async close(graceMs) {
      shared.isDraining = true;
      const closed = acceptor.close();
      http2.closeIdle();
      http1.closeIdle();
      // Node closes an HTTP/1.1 connection only when it is idle at the moment of the call.
      const idleHttp1 = setInterval(http1.closeIdle, 25);
      const timeout = setTimeout(acceptor.destroyAll, graceMs);
      await closed;
      clearInterval(idleHttp1);
      clearTimeout(timeout);
      http1.stop();
      http2.stop();
      readers.stop();
    },
  };
}

/** Serves HTTP/1.1. */
function createHttp1(shared: Shared): Protocol {
  const { options, readers, requests } = shared;
  const connections = new WeakMap<Socket, Connection>();
  const limitBodyTime = createBodyTimer(options.limits.bodyMs);
  const server = createHttp1Server(options.limits, (request, response) => {
    if (response.socket === null) readers.addQueued(request.socket, response);
    const connection = connections.get(request.socket);
    if (connection?.account !== undefined) options.bodies.count(request, response, connection.account);
    if (shared.isDraining) {
      response.shouldKeepAlive = false;
    } else if (request.url !== HEALTH_WATCH) {
      requests.add();
      response.on("close", requests.remove);
    }
    limitBodyTime(request, response);
    setClientCertificate(request, connection?.clientCertificate);
    options.handler(request, response);
  });
  return {
    serve(connection) {
      const { socket, account } = connection;
      connections.set(socket, connection);
      readers.addSocket(socket, account);
      server.emit("connection", socket);
    },
    closeIdle: () => server.closeIdleConnections(),
    stop: () => void server.close(),
  };
}

/** Serves HTTP/2. */
function createHttp2(shared: Shared): Protocol {
  const { options, readers, requests } = shared;
  const { limits } = options;
  const connections = new WeakMap<Http2Session, Connection>();
  const sessions = new Set<ServerHttp2Session>();
  const headers = watchHeaders(limits.headersMs);
  const idle = watchIdle(limits.idleMs);

  function handle(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { session } = request.stream;
    const connection = session === undefined ? undefined : connections.get(session);
    if (connection?.account !== undefined) options.bodies.count(request, response, connection.account);
    setClientCertificate(request, connection?.clientCertificate);
    options.handler(request, response);
  }
  const serveStream = createStreamHandler(handle, (request, response) =>
    handle(continueWhenRead(request, response), response),
  );
  const serveCompatibly = (open: OpenStream): void => {
    readers.followDrain(open);
    serveStream(open);
  };
  function onStream(open: OpenStream): void {
    readers.addStream(open);
    if (shared.isDraining) {
      open.stream.session?.close();
      serveCompatibly(open);
      return;
    }
    open.counted = open.headers[":path"] !== HEALTH_WATCH;
    if (open.counted) requests.add();
    options.unaryGrpc(open, serveCompatibly);
  }

  // Set while a connection is handed over, which emits `session`.
  let handedOver: Connection;
  const server = createHttp2Server(
    {
      limits,
      headers,
      handedOver: () => handedOver,
      onSession(open) {
        connections.set(open.session, open);
        readers.addSession(open);
        idle.add(open);
      },
      onStream,
      onStreamClose(open) {
        readers.removeStream(open);
        if (open.counted) requests.remove();
      },
    },
    sessions,
  );
  return {
    serve(connection) {
      const { socket } = connection;
      // A half-closed HTTP/2 connection is useless: its client cannot even acknowledge.
      socket.once("end", () => socket.destroySoon());
      handedOver = connection;
      server.emit("connection", socket);
    },
    closeIdle() {
      for (const session of sessions) session.close();
    },
    stop() {
      server.close();
      headers.stop();
      idle.stop();
    },
  };
}

/** Streams of this path are open for as long as their clients run. */
const HEALTH_WATCH = "/grpc.health.v1.Health/Watch";

/** Counts the requests in flight. */
interface RequestCount {
  add(): void;
  remove(): void;
  /** Resolves when there are none. */
  none(): Promise<void>;
}

function countRequests(): RequestCount {
  let count = 0;
  let settle: (() => void) | undefined;
  return {
    add: () => void count++,
    remove() {
      if (--count === 0) settle?.();
    },
    none: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => (settle = resolve))),
  };
}
