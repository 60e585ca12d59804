import { MAX_BUFFERED_BYTES } from "./buffers.ts";
import { MAX_CONNECTIONS } from "./connections.ts";

/** Time limits for slow clients, milliseconds, and size limits, bytes (decisions 15.9). */
export interface TransportLimits {
  headersMs: number;
  bodyMs: number;
  idleMs: number;
  headerBytes: number;
  /** A decoded message over Connect, gRPC and gRPC-Web (decisions 15.4). */
  messageBytes: number;
  /** Streams of one HTTP/2 connection at a time. */
  streams: number;
  /** Connections of one address at a time. */
  connections: number;
  /** Bytes held for one address: bodies being collected, and responses not yet taken. */
  bufferedBytes: number;
}

/** The limits of decisions 13 and 15.9. */
export const defaultLimits: TransportLimits = {
  headersMs: 10_000,
  bodyMs: 30_000,
  idleMs: 60_000,
  headerBytes: 16 * 1024,
  messageBytes: 1024 * 1024,
  streams: 128,
  connections: MAX_CONNECTIONS,
  bufferedBytes: MAX_BUFFERED_BYTES,
};
