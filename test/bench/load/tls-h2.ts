import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { frame, headerBlock } from "./grpc.ts";

/** Frame types and flags of RFC 9113. */
const DATA = 0,
  HEADERS = 1,
  RST_STREAM = 3,
  SETTINGS = 4,
  PING = 6,
  GOAWAY = 7,
  WINDOW_UPDATE = 8;
const END_STREAM = 1,
  ACK = 1,
  END_HEADERS = 4;
const maxWindow = 2 ** 31 - 1;

/** Where to connect, and as whom. */
export interface TlsTarget {
  port: number;
  /** PEM; none: a client without a certificate. */
  cert?: string;
  key?: string;
  /** Address of this side, where one address may not have as many connections. */
  localAddress?: string;
}

/** One GET, the same each time, and the length of the body of its good response. */
export interface TlsGet {
  path: string;
  headers: Record<string, string>;
  answerBytes: number;
}

/** Opens a connection with a full handshake. The server's certificate is not verified: both sides would do the same. */
export function openTls(target: TlsTarget, alpn: "h2" | "http/1.1"): TLSSocket {
  return connect({
    host: "127.0.0.1",
    ...target,
    ALPNProtocols: [alpn],
    rejectUnauthorized: false,
    minVersion: "TLSv1.3",
  }).setNoDelay(true);
}

/** A connection of HTTP/2 over TLS that sends one request again and again, as often as `next` says. */
export class TlsH2Connection {
  readonly socket: TLSSocket;
  private readonly call: Buffer;
  private readonly answerBytes: number;
  private readonly answered: (good: boolean, started: number) => void;
  private held: Buffer = Buffer.alloc(0);
  private readonly running = new Map<number, { started: number; bytes: number }>();
  private nextId = 1;
  private consumed = 0;
  private out: Buffer[] = [];

  constructor(target: TlsTarget, get: TlsGet, answered: (good: boolean, started: number) => void, broken: () => void) {
    this.call = frame(
      HEADERS,
      END_STREAM | END_HEADERS,
      0,
      headerBlock({
        ":method": "GET",
        ":scheme": "https",
        ":path": get.path,
        ":authority": "localhost",
        ...get.headers,
      }),
    );
    this.answerBytes = get.answerBytes;
    this.answered = answered;
    this.socket = openTls(target, "h2");
    this.socket
      .on("data", (chunk: Buffer) => this.read(chunk))
      .on("error", () => undefined)
      .on("close", broken);
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(1, 0); // no dynamic header table
    settings.writeUInt16BE(4, 6);
    settings.writeUInt32BE(maxWindow, 8);
    const window = Buffer.alloc(4);
    window.writeUInt32BE(maxWindow - 65_535);
    this.out.push(
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(SETTINGS, 0, 0, settings),
      frame(WINDOW_UPDATE, 0, 0, window),
    );
  }

  /** Sends the request once more. */
  start(): void {
    const id = this.nextId;
    this.nextId += 2;
    const bytes = Buffer.from(this.call);
    bytes.writeUInt32BE(id, 5);
    this.running.set(id, { started: performance.now(), bytes: 0 });
    this.out.push(bytes);
  }

  flush(): void {
    if (this.out.length > 0) this.socket.write(Buffer.concat(this.out));
    this.out = [];
  }

  close(): void {
    this.socket.removeAllListeners("close").destroy();
  }

  private read(chunk: Buffer): void {
    let bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    while (bytes.length >= 9) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < 9 + length) break;
      this.frame(bytes[3] ?? 0, bytes[4] ?? 0, bytes.readUInt32BE(5) & maxWindow, bytes.subarray(9, 9 + length));
      bytes = bytes.subarray(9 + length);
    }
    this.held = bytes;
    this.flush();
  }

  private frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) this.out.push(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && (flags & ACK) === 0) this.out.push(frame(PING, ACK, 0, Buffer.from(payload)));
    else if (type === GOAWAY) this.socket.destroy();
    else if (type === RST_STREAM) this.finish(id, false);
    else if (type === DATA) this.data(id, payload.length, (flags & END_STREAM) !== 0);
    else if (type === HEADERS && (flags & END_STREAM) !== 0) this.finish(id, true);
  }

  private data(id: number, length: number, isLast: boolean): void {
    const stream = this.running.get(id);
    if (stream !== undefined) stream.bytes += length;
    this.consumed += length;
    if (this.consumed > 2 ** 24) {
      const window = Buffer.alloc(4);
      window.writeUInt32BE(this.consumed);
      this.out.push(frame(WINDOW_UPDATE, 0, 0, window));
      this.consumed = 0;
    }
    if (isLast) this.finish(id, true);
  }

  private finish(id: number, ended: boolean): void {
    const stream = this.running.get(id);
    if (stream === undefined) return;
    this.running.delete(id);
    // An error has a body of another length.
    this.answered(ended && stream.bytes === this.answerBytes, stream.started);
  }
}
