import type { ServerResponse } from "node:http";
import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { heldBackBytes } from "../transcoding/index.ts";
import { heldBytes } from "./buffers.ts";
import type { Account } from "./connections.ts";
import type { OpenSession, OpenStream, Reader } from "./open-streams.ts";

/** Maximum time between two checks, milliseconds; an address may exceed its limit for that long. */
const MAX_INTERVAL_MS = 250;

/** What was sent on a connection of HTTP/2. */
interface Progress {
  readonly socket: Socket;
  readonly account: Account | undefined;
  /** Bytes written to the socket, and since when the number has not grown while some wait. */
  sent: number;
  since: number;
  probed: boolean;
}

/** Time and size limits. */
export interface ReaderLimits {
  idleMs: number;
  /** Bytes held for one address. */
  bufferedBytes: number;
}

/** Ends streams and connections whose clients do not read what waits for them, or leave too much unread. */
export interface ReaderWatch {
  addSocket(socket: Socket, account: Account | undefined): void;
  /** Adds a response of HTTP/1.1 that is not the next one of its connection. */
  addQueued(socket: Socket, response: ServerResponse): void;
  addSession(open: OpenSession): void;
  addStream(open: OpenStream): void;
  /**
   * Counts `drain` of a stream as progress: what is written in turn may never be less at one check than at the last.
   */
  followDrain(open: OpenStream): void;
  removeStream(open: OpenStream): void;
  stop(): void;
}

/**
 * Checks what waits to be sent several times per `idleMs`, and resets what the client took nothing of for that long.
 * While more than `bufferedBytes` are held for an address, the newest streams and connections of it that have something
 * waiting are reset.
 */
export function watchReaders({ idleMs, bufferedBytes }: ReaderLimits): ReaderWatch {
  const sockets = new Map<Socket, Reader>();
  // A list, each stream knowing its place: a set of them would be rebuilt every few calls.
  const streams: OpenStream[] = [];
  const sessions = new Map<Http2Session, Progress>();
  let count = 0;

  function check(): void {
    const now = performance.now();
    for (const { account } of sockets.values()) if (account !== undefined) account.unreadBytes = 0;
    for (const { account } of sessions.values()) if (account !== undefined) account.unreadBytes = 0;
    for (const [socket, reader] of sockets) {
      const left = unreadOf(socket, reader);
      const taken = left === 0 ? 0 : socket.bytesWritten - socket.writableLength;
      if (stuckMs(reader, taken, left, now) >= idleMs) socket.destroy();
    }
    const waiting = new Set<Http2Session>();
    for (const open of streams) {
      const { stream } = open;
      const left = stream.writableLength + heldBackBytes(stream);
      if (stuckMs(open, 0, left, now) >= idleMs) reset(stream, constants.NGHTTP2_CANCEL);
      if (left > 0) waiting.add(open.session.session);
    }
    for (const [session, progress] of sessions) {
      const ms = blockedMs(session, progress, waiting.has(session), now);
      if (ms >= idleMs) progress.socket.destroy();
      else if (ms >= idleMs / 2) probe(session, progress);
    }
    shed();
  }

  /** Resets the newest readers of addresses for which too much is held. */
  function shed(): void {
    const newestFirst: { reader: Reader; end: () => void }[] = [];
    const consider = (reader: Reader, end: () => void): void => {
      const { account, left } = reader;
      if (left > 0 && account !== undefined && heldBytes(account) > bufferedBytes) newestFirst.push({ reader, end });
    };
    for (const open of streams) consider(open, () => shedStream(open));
    for (const [socket, reader] of sockets) consider(reader, () => socket.destroy());
    newestFirst.sort((one, other) => other.reader.nth - one.reader.nth);
    for (const { reader, end } of newestFirst) {
      if (reader.account === undefined || heldBytes(reader.account) <= bufferedBytes) continue;
      forget(reader);
      end();
    }
  }

  const timer = setInterval(check, Math.min(MAX_INTERVAL_MS, idleMs / 8)).unref();

  return {
    addSocket(socket, account) {
      const reader: Reader = { account, nth: ++count, taken: 0, left: 0, since: undefined, queued: undefined };
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
    addSession({ session, socket, account }) {
      sessions.set(session, { socket, account, sent: 0, since: performance.now(), probed: false });
      // A destroyed session leaves its socket open until everything written has been sent.
      socket.once("close", () => sessions.delete(session));
    },
    addStream(open) {
      open.nth = ++count;
      open.at = streams.push(open) - 1;
    },
    followDrain(open) {
      open.stream.on("drain", () => (open.since = performance.now()));
    },
    removeStream(open) {
      const last = streams.pop();
      if (last !== undefined && last !== open) {
        streams[open.at] = last;
        last.at = open.at;
      }
      forget(open);
    },
    stop: () => clearInterval(timer),
  };
}

/** Counts what waits for a reader. @returns for how long its client has taken nothing of it, milliseconds */
function stuckMs(reader: Reader, taken: number, left: number, now: number): number {
  if (reader.since === undefined || left === 0 || left < reader.left || taken > reader.taken) reader.since = now;
  reader.taken = taken;
  reader.left = left;
  if (reader.account !== undefined) reader.account.unreadBytes += left;
  return now - reader.since;
}

/**
 * Returns for how long a connection has taken nothing although something waits, milliseconds. Of what waits on an
 * HTTP/2 connection node reports only the number of frames.
 */
function blockedMs(session: Http2Session, progress: Progress, waits: boolean, now: number): number {
  const sent = progress.socket.bytesWritten;
  if (sent !== progress.sent || !(waits || session.destroyed || (session.state.outboundQueueSize ?? 0) > 0)) {
    progress.sent = sent;
    progress.since = now;
    progress.probed = false;
  }
  return now - progress.since;
}

/** Sends a PING, once: a client that reads, but none of its streams, takes it, and one that reads nothing does not. */
function probe(session: Http2Session, progress: Progress): void {
  if (progress.probed || session.destroyed) return;
  progress.probed = true;
  session.ping(() => undefined);
}

function forget(reader: Reader): void {
  if (reader.account !== undefined) reader.account.unreadBytes -= reader.left;
  reader.left = 0;
}

/** Bytes of a connection's responses that the client has not taken. */
function unreadOf(socket: Socket, { queued }: Reader): number {
  let bytes = socket.writableLength + heldBackBytes(socket);
  // One whose turn has come writes to the socket, whose length includes its bytes.
  if (queued !== undefined)
    for (const response of queued) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}

function shedStream({ stream, session }: OpenStream): void {
  // A reset that cannot be sent frees nothing.
  if (stream.closed && stream.session !== undefined) session.socket.destroy();
  else reset(stream, constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

function reset(stream: ServerHttp2Stream, code: number): void {
  stream.close(code);
  stream.resume(); // a stream with unread bytes is never destroyed
}
