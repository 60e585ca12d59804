export type { IdempotencyStore } from "../platform/idempotency.ts";
export type { Authenticators } from "./gate/index.ts";
export type { RateLimiter } from "./rates.ts";
export type { PlainHandler } from "./routes.ts";
export { createServer } from "./server.ts";
export { MAX_STREAMS } from "./streams.ts";
export type { MutualTls, Server, ServerOptions } from "./server.ts";
