import type { ServerResponse } from "node:http";
import type { Http2Session, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { heldBackBytes } from "../transcoding/index.ts";
import { heldBytes } from "./buffers.ts";
import type { Account } from "./connections.ts";

/** Longest time between two looks, milliseconds: so long may an address hold more than it may. */
const MAX_BETWEEN_MS = 250;

/** A connection of HTTP/1.1 or a stream of HTTP/2, and what its client had taken when it was last looked at. */
interface Reader {
  readonly account: Account | undefined;
  readonly nth: number;
  taken: number;
  left: number;
  /** When it last took something, or had nothing to take; milliseconds of `performance.now()`. */
  since: number;
  /** Answers of HTTP/1.1 that wait for the one before them. */
  queued: Set<ServerResponse> | undefined;
}

/** A connection of HTTP/2. */
interface Line {
  readonly socket: Socket;
  readonly account: Account | undefined;
  /** Bytes given to the socket, and since when not more, where some wait. */
  sent: number;
  since: number;
  probed: boolean;
}

/** How long and how much. */
export interface ReaderLimits {
  idleMs: number;
  /** Bytes held for one address. */
  bufferedBytes: number;
}

/** Ends streams and connections whose clients take nothing of what is waiting for them, or leave too much. */
export interface ReaderWatch {
  /** Connections of HTTP/1.1. */
  addSocket(socket: Socket, account: Account | undefined): void;
  /** An answer of HTTP/1.1 that is not the next one of its connection. */
  addQueued(socket: Socket, response: ServerResponse): void;
  addSession(session: ServerHttp2Session, socket: Socket, account: Account | undefined): void;
  addStream(stream: ServerHttp2Stream): void;
  stop(): void;
}

/**
 * Looks at what waits to be sent several times in `idleMs`, and resets what nothing was taken of for that long. Of an
 * address for which more than `bufferedBytes` are held, the newest that have something waiting are reset until it is
 * less.
 */
export function watchReaders({ idleMs, bufferedBytes }: ReaderLimits): ReaderWatch {
  const sockets = new Map<Socket, Reader>();
  const streams = new Map<ServerHttp2Stream, Reader>();
  const lines = new Map<Http2Session, Line>();
  let count = 0;
  const readerOf = (account: Account | undefined): Reader => ({
    account,
    nth: ++count,
    taken: 0,
    left: 0,
    since: performance.now(),
    queued: undefined,
  });

  function isStuck(reader: Reader, taken: number, left: number, now: number): boolean {
    if (left === 0 || left < reader.left || taken > reader.taken) reader.since = now;
    reader.taken = taken;
    reader.left = left;
    if (reader.account !== undefined) reader.account.unreadBytes += left;
    return now - reader.since >= idleMs;
  }

  function look(): void {
    const now = performance.now();
    for (const { account } of sockets.values()) if (account !== undefined) account.unreadBytes = 0;
    for (const { account } of lines.values()) if (account !== undefined) account.unreadBytes = 0;
    for (const [socket, reader] of sockets) {
      const left = unreadOf(socket, reader);
      if (isStuck(reader, left === 0 ? 0 : socket.bytesWritten - socket.writableLength, left, now)) socket.destroy();
    }
    const waiting = new Set<Http2Session>();
    for (const [stream, reader] of streams) {
      const left = stream.writableLength + heldBackBytes(stream);
      if (isStuck(reader, 0, left, now)) reset(stream, constants.NGHTTP2_CANCEL);
      if (left > 0 && stream.session !== undefined) waiting.add(stream.session);
    }
    for (const [session, line] of lines) if (isBlocked(session, line, waiting.has(session), now)) line.socket.destroy();
    shed();
  }

  /**
   * Whether a connection does not take even a PING: a client that reads none of its streams, but reads, takes that.
   * Node tells nothing of what an HTTP/2 connection has waiting but how many frames.
   */
  function isBlocked(session: Http2Session, line: Line, waits: boolean, now: number): boolean {
    const sent = line.socket.bytesWritten;
    if (sent !== line.sent || !(waits || session.destroyed || (session.state.outboundQueueSize ?? 0) > 0)) {
      line.sent = sent;
      line.since = now;
      line.probed = false;
    } else if (!line.probed && now - line.since >= idleMs / 2 && !session.destroyed) {
      line.probed = true;
      session.ping(() => undefined);
    }
    return now - line.since >= idleMs;
  }

  function shed(): void {
    const newestFirst: [ServerHttp2Stream | Socket, Reader][] = [];
    for (const entry of [streams, sockets].flatMap((map) => [...map])) {
      const { account, left } = entry[1];
      if (left > 0 && account !== undefined && heldBytes(account) > bufferedBytes) newestFirst.push(entry);
    }
    newestFirst.sort(([, one], [, other]) => other.nth - one.nth);
    for (const [end, reader] of newestFirst) {
      if (reader.account === undefined || heldBytes(reader.account) <= bufferedBytes) continue;
      forget(reader);
      if (!("session" in end)) end.destroy();
      // A reset that cannot be sent has freed nothing.
      else if (end.closed && end.session !== undefined) lines.get(end.session)?.socket.destroy();
      else reset(end, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }

  const timer = setInterval(look, Math.min(MAX_BETWEEN_MS, idleMs / 8)).unref();

  return {
    addSocket(socket, account) {
      const reader = readerOf(account);
      sockets.set(socket, reader);
      socket.once("close", () => {
        sockets.delete(socket);
        forget(reader);
      });
    },
    addQueued(socket, response) {
      const reader = sockets.get(socket);
      if (reader === undefined) return;
      const queued = (reader.queued ??= new Set());
      queued.add(response);
      response.once("close", () => queued.delete(response));
    },
    addSession(session, socket, account) {
      lines.set(session, { socket, account, sent: 0, since: performance.now(), probed: false });
      // A destroyed session leaves its socket open until all that was written has gone.
      socket.once("close", () => lines.delete(session));
    },
    addStream(stream) {
      const reader = readerOf(stream.session === undefined ? undefined : lines.get(stream.session)?.account);
      streams.set(stream, reader);
      stream.on("drain", () => (reader.since = performance.now()));
      stream.once("close", () => {
        streams.delete(stream);
        forget(reader);
      });
    },
    stop: () => clearInterval(timer),
  };
}

function forget(reader: Reader): void {
  if (reader.account !== undefined) reader.account.unreadBytes -= reader.left;
  reader.left = 0;
}

/** Bytes of a connection's answers that the client has not taken. */
function unreadOf(socket: Socket, { queued }: Reader): number {
  let bytes = socket.writableLength + heldBackBytes(socket);
  // One whose turn has come writes to the socket, whose bytes its length includes.
  if (queued !== undefined)
    for (const response of queued) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}

function reset(stream: ServerHttp2Stream, code: number): void {
  stream.close(code);
  stream.resume(); // a stream with unread bytes is never destroyed
}
