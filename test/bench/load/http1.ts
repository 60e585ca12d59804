import { connect } from "node:net";
import type { Socket } from "node:net";

/** Told of each answer: its status, and the time its request was due. */
export type Answered = (status: number, due: number, connection: Http1Connection) => void;

const headEnd = Buffer.from("\r\n\r\n", "latin1");
const lastChunk = Buffer.from("0\r\n\r\n", "latin1");

/**
 * One keep-alive connection with one request at a time. Reads of an answer
 * just what is needed to find its end: the bytes themselves are not looked at.
 */
export class Http1Connection {
  private readonly socket: Socket;
  private readonly answered: Answered;
  private held: Buffer | undefined;
  /** Body bytes still to come; -1 while the head is read, -2 for a chunked body. */
  private left = -1;
  private status = 0;
  private due = 0;

  constructor(port: number, answered: Answered, broken: (connection: Http1Connection) => void) {
    this.answered = answered;
    this.socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      // One buffer for the life of the connection, instead of one for each read.
      onread: {
        buffer: Buffer.allocUnsafe(64 * 1024),
        callback: (size, buffer) => {
          this.read(Buffer.from((buffer as Buffer).buffer, (buffer as Buffer).byteOffset, size));
          return true;
        },
      },
    });
    this.socket.on("error", () => undefined).on("close", () => broken(this));
  }

  /** Sends a request that was due at `due`, milliseconds of `performance.now()`. */
  send(request: Buffer, due: number): void {
    this.due = due;
    this.socket.write(request);
  }

  close(): void {
    this.socket.removeAllListeners("close").destroy();
  }

  private read(chunk: Buffer): void {
    const bytes = this.held === undefined ? chunk : Buffer.concat([this.held, chunk]);
    this.held = undefined;
    if (this.left === -1) return this.readHead(bytes);
    if (this.left === -2) return this.readChunked(bytes);
    this.left -= bytes.length;
    if (this.left <= 0) this.finish();
  }

  private readHead(bytes: Buffer): void {
    const end = bytes.indexOf(headEnd);
    if (end < 0) {
      this.held = Buffer.from(bytes);
      return;
    }
    const head = bytes.toString("latin1", 0, end + 2).toLowerCase();
    this.status = Number(head.slice(9, 12));
    const length = head.indexOf("\r\ncontent-length: ");
    if (length >= 0) {
      this.left = Number(head.slice(length + 18, head.indexOf("\r\n", length + 18))) - (bytes.length - end - 4);
      if (this.left <= 0) this.finish();
    } else if (head.includes("\r\ntransfer-encoding: chunked")) {
      this.left = -2;
      this.readChunked(bytes.subarray(end + 4));
    } else this.finish();
  }

  private readChunked(bytes: Buffer): void {
    if (bytes.length >= 5 && bytes.compare(lastChunk, 0, 5, bytes.length - 5) === 0) this.finish();
    else this.held = Buffer.from(bytes.subarray(Math.max(0, bytes.length - 5)));
  }

  private finish(): void {
    this.left = -1;
    this.answered(this.status, this.due, this);
  }
}
