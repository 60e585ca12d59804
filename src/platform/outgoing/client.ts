import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { decodeBounded, readBounded } from "./body.ts";
import { withSpan } from "../tracing.ts";
import type { Note } from "../tracing.ts";
import { createConnector } from "./connector.ts";
import { OutgoingError, outgoingError } from "./failure.ts";
import { createGuard } from "./guard.ts";
import type { GuardOptions, OutgoingGuard } from "./guard.ts";
import type { Resolve } from "./resolve.ts";

export { OutgoingError } from "./failure.ts";
export type { OutgoingReason } from "./failure.ts";

/** A request to a URL chosen by a tenant. */
export interface OutgoingRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | string;
  /** Time limit from name resolution to the last byte of the body, milliseconds. Default 15,000. */
  timeoutMs?: number;
  /** Maximum number of decoded body bytes to keep. Default 64 KiB. */
  maxBytes?: number;
  signal?: AbortSignal;
}

/** A response with any status, including redirects. */
export interface OutgoingResponse {
  status: number;
  /** Names in lower case; repeated headers joined with `, `. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The body was longer. */
  truncated: boolean;
  /** Why the body could not be decoded; it is empty then. */
  unreadable?: OutgoingError;
  durationMs: number;
}

/** An HTTP client for URLs of tenants. */
export interface GuardedClient extends Pick<OutgoingGuard, "vetUrl"> {
  /** Rejects with `OutgoingError`, or with the reason of `signal` when that was aborted. */
  request(request: OutgoingRequest): Promise<OutgoingResponse>;
  /**
   * Refuses further requests, waits for those in flight at most `graceMs` (default 5,000) and closes all connections.
   */
  close(graceMs?: number): Promise<void>;
}

export interface GuardedClientOptions extends GuardOptions {
  /** Replaces name resolution (tests). */
  resolve?: Resolve;
  /** Default `Atrium/1`. */
  userAgent?: string;
  /** Time limit for name resolution, TCP and TLS, milliseconds. Default 5,000. */
  connectTimeoutMs?: number;
  /**
   * Maximum concurrent connections to one origin; further requests wait. Default 1,000: URLs of many tenants share a
   * host, and those that never respond must not delay the others. Callers limit their own requests in flight.
   */
  connectionsPerOrigin?: number;
  /** Root certificates to trust instead of the public ones, PEM (tests). */
  ca?: string;
}

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_INFORMATIONAL = 16;

/**
 * Creates a client on undici with its own connect step (decisions 11.5). HTTP/1.1; follows no redirects, ignores proxy
 * variables and requests no content coding. Every connection, also a reused one, leads to a checked address. A request
 * is a span of the current trace, but `traceparent` is not sent: the owner of the URL learns nothing about our
 * requests.
 */
export function createGuardedClient(options: GuardedClientOptions = {}): GuardedClient {
  const { resolve, ca, userAgent = "Atrium/1", connectTimeoutMs = 5_000, connectionsPerOrigin = 1_000 } = options;
  const guard = createGuard(options);
  const agent = new Agent({
    connect: createConnector({ guard, resolve, connectTimeoutMs, ca }),
    connections: connectionsPerOrigin,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
    // The request's own timer covers these.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });

  async function exchange(
    url: URL,
    request: OutgoingRequest,
    stop: AbortController,
  ): Promise<Omit<OutgoingResponse, "durationMs">> {
    const { maxBytes = 64 * 1024 } = request;
    const answer = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers: { "user-agent": userAgent, accept: "*/*", "accept-encoding": "identity", ...request.headers },
      body: request.body ?? null,
      signal: stop.signal,
      onInfo: informationalLimit(stop),
    });
    // There is no other listener once reading has stopped early.
    answer.body.on("error", () => undefined);
    const headers = flatten(answer.headers);
    const kept = await readBounded(answer.body, maxBytes);
    const head = { status: answer.statusCode, headers };
    if (request.method === "HEAD") return { ...head, ...kept };
    try {
      return { ...head, ...(await decodeBounded(kept, headers["content-encoding"] ?? "", maxBytes)) };
    } catch (error) {
      // The status says what became of the request, whatever the body is.
      return { ...head, body: Buffer.alloc(0), truncated: false, unreadable: outgoingError(error) };
    }
  }

  async function send(url: URL, request: OutgoingRequest, note: Note): Promise<OutgoingResponse> {
    const started = performance.now();
    const stop = new AbortController();
    const cancel = (): void => stop.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", cancel, { once: true });
    const timer = setTimeout(() => stop.abort(new OutgoingError("timeout")), request.timeoutMs ?? 15_000);
    try {
      const answer = await exchange(url, request, stop);
      note({ "http.response.status_code": answer.status });
      return { ...answer, durationMs: Math.round(performance.now() - started) };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw stop.signal.aborted ? outgoingError(stop.signal.reason) : outgoingError(error);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", cancel);
    }
  }

  return {
    vetUrl: (url, field) => guard.vetUrl(url, field),
    async request(request) {
      request.signal?.throwIfAborted();
      if (guard.vetUrl(request.url) !== undefined) throw new OutgoingError("refused_address");
      const url = new URL(request.url);
      // Neither path nor query: they may contain secrets.
      const facts = {
        "http.request.method": request.method,
        "server.address": url.hostname,
        "server.port": Number(url.port) || (url.protocol === "https:" ? 443 : 80),
      };
      return withSpan(`HTTP ${request.method}`, (note) => send(url, request, note), facts);
    },
    async close(graceMs = 5_000) {
      if (agent.closed || agent.destroyed) return;
      const timer = setTimeout(() => void agent.destroy(), graceMs);
      await agent.close();
      clearTimeout(timer);
    },
  };
}

/** Limits 1xx responses and their headers: the limit of the parser starts again with each of them. */
function informationalLimit(stop: AbortController): NonNullable<Dispatcher.RequestOptions["onInfo"]> {
  let count = 0;
  let bytes = 0;
  return ({ headers }) => {
    count += 1;
    for (const [name, value] of Object.entries(headers)) bytes += name.length + String(value).length;
    if (count > MAX_INFORMATIONAL || bytes > MAX_HEADER_BYTES)
      stop.abort(new OutgoingError("too_large", undefined, "too many interim answers"));
  };
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}
