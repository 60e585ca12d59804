import type { ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { RequestHead } from "../transcoding/index.ts";
import type { Account, Connection } from "./connections.ts";
import type { ClientCertificate } from "./mtls/client-certificate.ts";

/** A connection of HTTP/1.1 or a stream of HTTP/2, and what its client had taken at the last check. */
export interface Reader {
  readonly account: Account | undefined;
  /** Grows with each reader. */
  nth: number;
  taken: number;
  left: number;
  /**
   * When the client last took something or had nothing to take, `performance.now()`; undefined before the first check.
   */
  since: number | undefined;
  /** Responses of HTTP/1.1 that wait for the one before them. */
  queued: Set<ServerResponse> | undefined;
}

/** A connection of HTTP/2. */
export interface OpenSession extends Connection {
  readonly session: ServerHttp2Session;
  /** The address for request heads. `session.socket` is a proxy, and reading a property of it is expensive. */
  readonly peer: RequestHead["socket"];
  /** Streams that are open, and that have been opened. */
  streams: number;
  opened: number;
}

/**
 * A stream with everything the server keeps for it, in one object and with one `close` listener: each listener on a
 * stream costs two further events (`newListener`, `removeListener`).
 */
export class OpenStream implements RequestHead, Reader {
  readonly session: OpenSession;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly flags: number;
  readonly rawHeaders: readonly string[];
  readonly account: Account | undefined;
  nth = 0;
  /** Its place in the list of open streams. */
  at = 0;
  taken = 0;
  left = 0;
  since: number | undefined = undefined;
  queued = undefined;
  /** Whether it is one of the requests in flight. */
  counted = false;
  /** The unary gRPC call on this stream. */
  call: { closed(): void } | undefined = undefined;

  constructor(
    session: OpenSession,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
  ) {
    this.session = session;
    this.account = session.account;
    this.stream = stream;
    this.headers = headers;
    this.flags = flags;
    this.rawHeaders = rawHeaders;
  }

  get method(): string {
    return this.headers[":method"] as string;
  }

  get url(): string {
    return this.headers[":path"] as string;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.session.clientCertificate;
  }

  get socket(): RequestHead["socket"] {
    return this.session.peer;
  }
}
