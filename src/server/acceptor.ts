import { createServer as createNet } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { Addresses, Connection } from "./connections.ts";
import type { ClientCertificate, VerifyCertificate } from "./mtls/client-certificate.ts";
import { createMutualTlsServer, presentedBy } from "./mtls/tls-server.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Where to accept connections and how. */
export interface AcceptorOptions {
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
}

/** Accepts the connections of one port. */
export interface Acceptor {
  /** Resolves when connections are accepted; rejects with node's error, `EADDRINUSE` for a port in use. */
  listen(): Promise<void>;
  address(): AddressInfo;
  /**
   * Stops accepting connections and destroys those whose protocol is not known yet. Resolves when the last of the
   * others is closed.
   */
  close(): Promise<void>;
  /** Destroys every connection. */
  destroyAll(): void;
}

/**
 * Creates an acceptor. The first bytes of a plain connection decide between HTTP/1.1 and HTTP/2, with TLS ALPN does;
 * then `serve` gets the connection.
 */
export function createAcceptor(
  options: AcceptorOptions,
  serve: (connection: Connection, isHttp2: boolean) => void,
): Acceptor {
  const { limits, addresses, verifyCertificate: verify } = options;
  const sockets = new Set<Socket>();
  /** Those whose protocol is not known yet. */
  const silent = new Set<Socket>();
  /** What carries connections of TLS: the only trace of one whose handshake is not complete. */
  const carriers = new Set<Socket>();

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

  function hand(socket: Socket, isHttp2: boolean, clientCertificate?: ClientCertificate): void {
    silent.delete(socket);
    serve({ socket, account: addresses.accountOf(socket), clientCertificate }, isHttp2);
  }

  const onSecure = (socket: TLSSocket): void => {
    const certificate = verify === undefined ? undefined : presentedBy(socket, verify);
    hand(track(socket), socket.alpnProtocol === "h2", certificate);
  };
  const server = createNodeServer(options, onSecure, (socket) => {
    if (!socket.destroyed) sniff(track(socket), limits, hand);
  });
  // Before any other work for the connection, a TLS handshake included.
  server.prependListener("connection", (socket: Socket) => {
    if (!addresses.admit(socket)) return void socket.resetAndDestroy();
    if (options.tls === undefined) return;
    carriers.add(socket);
    socket.once("close", () => carriers.delete(socket));
  });
  server.on("tlsClientError", (_error, socket: TLSSocket) => socket.destroy());

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
          server.off("error", reject);
          server.on("error", () => undefined); // EMFILE and the like: the next connection may succeed
          resolve();
        });
      }),
    address: () => server.address() as AddressInfo,
    close() {
      for (const socket of silent) socket.destroy();
      destroyHandshakes(carriers, sockets);
      return new Promise((resolve) => server.close(() => resolve()));
    },
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Creates the server that accepts connections. */
function createNodeServer(
  { tls, verifyCertificate: verify, limits }: AcceptorOptions,
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

/** Destroys carriers that none of the `secured` sockets stands for: their handshakes are not complete. */
function destroyHandshakes(carriers: ReadonlySet<Socket>, secured: ReadonlySet<Socket>): void {
  const endOf = ({ remoteAddress = "", remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
  const ends = new Set([...secured].map(endOf));
  for (const socket of carriers) if (!ends.has(endOf(socket))) socket.destroy();
}

/** First bytes of the preface of HTTP/2. */
const PREFACE = Buffer.from("PRI");

/** Reads until the protocol is known, puts the bytes back and hands the socket over. */
function sniff(socket: Socket, limits: TransportLimits, hand: (socket: Socket, isHttp2: boolean) => void): void {
  let timer = setTimeout(() => socket.destroy(), limits.idleMs);
  let held: Buffer | undefined;
  const onReadable = (): void => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    const before = held;
    held = before === undefined ? bytes : Buffer.concat([before, bytes]);
    const known = Math.min(held.length, PREFACE.length);
    const isHttp2 = held.subarray(0, known).equals(PREFACE.subarray(0, known));
    if (isHttp2 && known < PREFACE.length) {
      if (before !== undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), limits.headersMs);
      return;
    }
    stop();
    socket.unshift(held);
    hand(socket, isHttp2);
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
