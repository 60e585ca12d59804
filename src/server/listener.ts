import type { Http2ServerRequest, Http2ServerResponse, Http2Session, ServerHttp2Session } from "node:http2";
import { createServer as createNet } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";
import type { BodyBuffers } from "./buffers.ts";
import type { Account, Addresses } from "./connections.ts";
import type { UnaryGrpc } from "./grpc-unary.ts";
import { createBodyTimer, createHttp1Server } from "./http1.ts";
import { createHttp2Server } from "./http2.ts";
import { watchIdle } from "./idle-sessions.ts";
import { setClientCertificate } from "./mtls/client-certificate.ts";
import type { ClientCertificate, VerifyCertificate } from "./mtls/client-certificate.ts";
import { createMutualTlsServer, presentedBy } from "./mtls/tls-server.ts";
import type { OpenStream } from "./open-streams.ts";
import { continueWhenRead } from "./patches/node-continue-when-read.ts";
import { createStreamHandler } from "./patches/node-http2-requests.ts";
import { watchReaders } from "./readers.ts";
import { watchHeaders } from "./slow-headers.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Where to listen and how. */
export interface ListenerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** PEM; TLS with ALPN instead of plain text. */
  tls: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** With `tls`: asks clients for a certificate, which this verifies. */
  verifyCertificate?: VerifyCertificate | undefined;
  limits: TransportLimits;
  /** Counts connections, over all listeners of the process. */
  addresses: Addresses;
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

/** Creates a listener. The first bytes of a plain connection decide between HTTP/1.1 and HTTP/2, with TLS ALPN does. */
export function createListener(options: ListenerOptions): Listener {
  const { limits, addresses, verifyCertificate: verify } = options;
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  /** What carries connections of TLS: the only trace of one whose handshake is not complete. */
  const accepted = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const requests = countRequests();
  let draining = false;

  const accounts = new WeakMap<Socket | Http2Session, Account>();
  const certificates = new WeakMap<Socket | Http2Session, ClientCertificate>();
  const readers = watchReaders(limits);
  const limitBodyTime = createBodyTimer(limits.bodyMs);
  const http1 = createHttp1Server(limits, (request, response) => {
    if (response.socket === null) readers.addQueued(request.socket, response);
    const account = accounts.get(request.socket);
    if (account !== undefined) options.bodies.count(request, response, account);
    if (draining) {
      response.shouldKeepAlive = false;
    } else if (request.url !== HEALTH_WATCH) {
      requests.add();
      response.on("close", requests.remove);
    }
    limitBodyTime(request, response);
    if (verify !== undefined) setClientCertificate(request, certificates.get(request.socket));
    options.handler(request, response);
  });

  const handle2 = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const { session } = request.stream;
    const account = session === undefined ? undefined : accounts.get(session);
    if (account !== undefined) options.bodies.count(request, response, account);
    if (verify !== undefined && session !== undefined) setClientCertificate(request, certificates.get(session));
    options.handler(request, response);
  };
  const serveStream = createStreamHandler(handle2, (request, response) =>
    handle2(continueWhenRead(request, response), response),
  );
  const serveCompatibly = (open: OpenStream): void => {
    readers.followDrain(open);
    serveStream(open);
  };

  const headers = watchHeaders(limits.headersMs);
  const idle = watchIdle(limits.idleMs);
  // Set while a connection is handed over, which emits `session`.
  let handedOver: Socket;
  const http2 = createHttp2Server(
    {
      limits,
      headers,
      handedOver: () => ({
        socket: handedOver,
        account: addresses.accountOf(handedOver),
        clientCertificate: certificates.get(handedOver),
      }),
      onSession(open) {
        if (open.account !== undefined) accounts.set(open.session, open.account);
        if (open.clientCertificate !== undefined) certificates.set(open.session, open.clientCertificate);
        readers.addSession(open);
        idle.add(open);
      },
      onStream(open) {
        readers.addStream(open);
        if (draining) {
          open.stream.session?.close();
          serveCompatibly(open);
          return;
        }
        open.counted = open.headers[":path"] !== HEALTH_WATCH;
        if (open.counted) requests.add();
        options.unaryGrpc(open, serveCompatibly);
      },
      onStreamClose(open) {
        readers.removeStream(open);
        if (open.counted) requests.remove();
      },
    },
    sessions,
  );

  const hand = (socket: Socket, h2: boolean): boolean => {
    silent.delete(socket);
    // A half-closed HTTP/2 connection is useless: its client cannot even acknowledge.
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
  const onSecure = (socket: TLSSocket): void => {
    const certificate = verify === undefined ? undefined : presentedBy(socket, verify);
    if (certificate !== undefined) certificates.set(socket, certificate);
    hand(track(socket), socket.alpnProtocol === "h2");
  };
  const outer = createOuter(options, onSecure, (socket) => {
    if (!socket.destroyed) sniff(track(socket), limits, hand);
  });
  // Before any other work for the connection, a TLS handshake included.
  outer.prependListener("connection", (socket: Socket) => {
    if (!addresses.admit(socket)) return void socket.resetAndDestroy();
    if (options.tls === undefined) return;
    accepted.add(socket);
    socket.once("close", () => accepted.delete(socket));
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
          outer.on("error", () => undefined); // EMFILE and the like: the next connection may succeed
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
      destroyHandshakes(accepted, sockets);
      const closed = new Promise<void>((resolve) => outer.close(() => resolve()));
      for (const session of sessions) session.close();
      const idleHttp1 = setInterval(() => http1.closeIdleConnections(), 25);
      http1.closeIdleConnections();
      const timeout = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed;
      clearInterval(idleHttp1);
      clearTimeout(timeout);
      http1.close();
      http2.close();
      headers.stop();
      readers.stop();
      idle.stop();
    },
  };
}

/** Creates the server that accepts connections. */
function createOuter(
  { tls, verifyCertificate: verify, limits }: ListenerOptions,
  onSecure: (socket: TLSSocket) => void,
  onPlain: (socket: Socket) => void,
): Server {
  // Of a client that vanished while its stream was quiet, nothing else would ever be noticed over HTTP/1.1.
  const connection = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: limits.idleMs };
  if (tls === undefined) return createNet(connection, onPlain);
  const common = {
    ...connection,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: limits.headersMs,
  };
  return verify === undefined
    ? createTls({ ...common, ...tls, minVersion: "TLSv1.2" }, onSecure)
    : createMutualTlsServer({ ...tls, verify }, common, onSecure);
}

/** Destroys connections that none of the `secured` sockets stands for: their handshakes are not complete. */
function destroyHandshakes(accepted: ReadonlySet<Socket>, secured: ReadonlySet<Socket>): void {
  const endOf = ({ remoteAddress = "", remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
  const ends = new Set([...secured].map(endOf));
  for (const socket of accepted) if (!ends.has(endOf(socket))) socket.destroy();
}

/** Streams of this path are open for as long as their clients run. */
const HEALTH_WATCH = "/grpc.health.v1.Health/Watch";

/** Counts the requests in flight. */
function countRequests(): { add(): void; remove(): void; none(): Promise<void> } {
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

const PREFACE = Buffer.from("PRI");

/** Reads until the protocol is known, puts the bytes back and hands the socket over. */
function sniff(socket: Socket, limits: TransportLimits, hand: (socket: Socket, h2: boolean) => void): void {
  let timer = setTimeout(() => socket.destroy(), limits.idleMs);
  let held: Buffer | undefined;
  const onReadable = (): void => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    const before = held;
    held = before === undefined ? bytes : Buffer.concat([before, bytes]);
    const known = Math.min(held.length, PREFACE.length);
    const h2 = held.subarray(0, known).equals(PREFACE.subarray(0, known));
    if (h2 && known < PREFACE.length) {
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
