import { connect } from "node:net";
import type { Socket } from "node:net";
import type { Counts } from "./closed-loop.ts";
import type { GrpcCall, LoadJob } from "./job.ts";
import { Latencies } from "./latencies.ts";

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

/**
 * One connection that keeps a number of unary calls in flight. The bytes of a call are the same each time but for its
 * stream id.
 */
class GrpcConnection {
  private readonly socket: Socket;
  private readonly call: Buffer;
  private readonly dataAt: number;
  private readonly answerBytes: number;
  private readonly answered: (good: boolean, started: number) => boolean;
  private held: Buffer = Buffer.alloc(0);
  private readonly running = new Map<number, { started: number; bytes: number }>();
  private nextId = 1;
  private consumed = 0;
  private out: Buffer[] = [];

  constructor(
    port: number,
    call: GrpcCall,
    index: number,
    answered: (good: boolean, started: number) => boolean,
    broken: () => void,
  ) {
    const metadata = call.metadata[index % call.metadata.length] ?? {};
    const block = headerBlock({
      ":method": "POST",
      ":scheme": "http",
      ":path": call.path,
      ":authority": "localhost",
      "content-type": "application/grpc",
      te: "trailers",
      ...metadata,
    });
    const message = Buffer.from(call.message, "base64");
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const head = frame(HEADERS, END_HEADERS, 0, block);
    this.call = Buffer.concat([head, frame(DATA, END_STREAM, 0, Buffer.concat([prefix, message]))]);
    this.dataAt = head.length;
    this.answerBytes = call.answerBytes;
    this.answered = answered;
    this.socket = connect({ host: "127.0.0.1", port, noDelay: true });
    this.socket
      .on("data", (chunk) => this.read(chunk))
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
    for (let i = 0; i < call.streams; i++) this.start();
    this.flush();
  }

  close(): void {
    this.socket.removeAllListeners("close").destroy();
  }

  private start(): void {
    const id = this.nextId;
    this.nextId += 2;
    const bytes = Buffer.from(this.call);
    bytes.writeUInt32BE(id, 5);
    bytes.writeUInt32BE(id, this.dataAt + 5);
    this.running.set(id, { started: performance.now(), bytes: 0 });
    this.out.push(bytes);
  }

  private flush(): void {
    if (this.out.length > 0)
      this.socket.write(this.out.length === 1 ? (this.out[0] as Buffer) : Buffer.concat(this.out));
    this.out = [];
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
    else if (type === DATA) {
      const stream = this.running.get(id);
      if (stream !== undefined) stream.bytes += payload.length;
      this.consumed += payload.length;
      if (this.consumed > 2 ** 24) this.topUp();
      if ((flags & END_STREAM) !== 0) this.finish(id, false); // an answer of gRPC ends with trailers
    } else if (type === HEADERS && (flags & END_STREAM) !== 0) this.finish(id, true);
  }

  private topUp(): void {
    const window = Buffer.alloc(4);
    window.writeUInt32BE(this.consumed);
    this.out.push(frame(WINDOW_UPDATE, 0, 0, window));
    this.consumed = 0;
  }

  private finish(id: number, ended: boolean): void {
    const stream = this.running.get(id);
    if (stream === undefined) return;
    this.running.delete(id);
    // An error has trailers only: a good response has the right amount of data.
    if (this.answered(ended && stream.bytes === this.answerBytes, stream.started)) this.start();
  }
}

/** gRPC over h2c: every connection keeps `streams` calls in flight. */
export function runGrpc(job: LoadJob): Promise<Counts> {
  const call = job.grpc;
  if (call === undefined) throw new Error("a gRPC job needs a call");
  const latencies = new Latencies();
  const counts = { completed: 0, refused: 0, failed: 0 };
  let over = false;
  return new Promise((resolve) => {
    const started = performance.now();
    const answered = (good: boolean, at: number): boolean => {
      if (over) return false;
      if (good) latencies.add(performance.now() - at);
      counts[good ? "completed" : "failed"]++;
      return true;
    };
    const open = Array.from(
      { length: job.connections },
      (_, i) => new GrpcConnection(job.port, call, i, answered, () => void counts.failed++),
    );
    setTimeout(() => {
      over = true;
      const seconds = (performance.now() - started) / 1000;
      for (const connection of open) connection.close();
      const [p50 = 0, p99 = 0] = latencies.percentiles(0.5, 0.99);
      resolve({ ...counts, seconds, p50, p99 });
    }, job.seconds * 1000);
  });
}

/** A frame (RFC 9113 §4.1). */
export function frame(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** A header block of literals without indexing (RFC 7541, 6.2.2): the same bytes for every call. */
export function headerBlock(headers: Record<string, string>): Buffer {
  const parts = Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]);
  return Buffer.concat(parts);
}

/** A string without Huffman coding; its length as an integer with a prefix of 7 bits (RFC 7541, 5.1). */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  length.push(rest);
  return Buffer.concat([Buffer.from(length), bytes]);
}
