import { isLoopback } from "../platform/loopback.ts";
import type { NodeRequest } from "../transcoding/index.ts";

const ALLOW_HEADERS = [
  "authorization",
  "content-type",
  "connect-protocol-version",
  "connect-timeout-ms",
  "connect-accept-encoding",
  "connect-content-encoding",
  "grpc-timeout",
  "x-grpc-web",
  "x-user-agent",
  "idempotency-key",
  "x-device-uuid",
  "x-request-id",
  "if-match",
  "if-none-match",
  "traceparent",
  "tracestate",
].join(", ");
const EXPOSE_HEADERS = [
  "grpc-status",
  "grpc-message",
  "grpc-status-details-bin",
  "grpc-encoding",
  "grpc-accept-encoding",
  "www-authenticate",
  "retry-after",
  "etag",
  "location",
  "link",
  "content-disposition",
  "x-request-id",
  "idempotent-replayed",
].join(", ");

/** Origins that browsers may call from: a list, or any loopback origin. */
export type CorsOrigins = readonly string[] | "loopback";

/** The CORS protocol (decisions 15.8), without credentials mode. */
export interface Cors {
  /** Whether some origins are allowed: responses then differ by `Origin`, also to requests without one. */
  readonly varies: boolean;
  /** Returns the headers of a response; undefined when the request has no origin, or none is allowed. */
  headers(request: NodeRequest): Record<string, string> | undefined;
  /** Returns the headers for a preflight request; undefined for other requests and for origins that are not allowed. */
  preflight(request: NodeRequest, methods: string): Record<string, string> | undefined;
}

/** Creates the CORS headers for a list of origins. */
export function createCors(origins: CorsOrigins): Cors {
  const listed = new Set(origins === "loopback" ? [] : origins.map((origin) => origin.toLowerCase()));
  const allowed = (origin: string): boolean =>
    origins === "loopback" ? isLoopback(origin) : listed.has("*") || listed.has(origin.toLowerCase());
  const varies = origins === "loopback" || listed.size > 0;
  return {
    varies,
    headers(request) {
      const { origin } = request.headers;
      if (origin === undefined || !varies) return undefined;
      if (!allowed(origin)) return { vary: "Origin" };
      return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSE_HEADERS, vary: "Origin" };
    },
    preflight(request, methods) {
      const { origin } = request.headers;
      if (
        request.method !== "OPTIONS" ||
        origin === undefined ||
        request.headers["access-control-request-method"] === undefined
      )
        return undefined;
      if (!allowed(origin)) return undefined;
      return {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": methods,
        "access-control-allow-headers": ALLOW_HEADERS,
        "access-control-max-age": "7200",
        vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      };
    },
  };
}
