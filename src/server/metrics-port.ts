import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "../platform/metrics.ts";
import { NOSNIFF } from "./print.ts";

/** A separate port for metrics (`SERVICE_METRICS_PORT`), so that the public port does not expose them. */
export interface MetricsPort {
  /** @throws node's error, such as `EADDRINUSE` */
  listen(): Promise<void>;
  address(): AddressInfo;
  close(): Promise<void>;
}

/** Serves `GET /metrics` and nothing else. */
export function createMetricsPort(options: { host: string; port: number; metrics: Metrics }): MetricsPort {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      if (request.url !== "/metrics" || (request.method !== "GET" && request.method !== "HEAD")) {
        response.writeHead(404, NOSNIFF).end();
        return;
      }
      options.metrics.text().then(
        (text) =>
          response.writeHead(200, { ...NOSNIFF, "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
        () => response.writeHead(503, NOSNIFF).end(),
      );
    },
  );
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(options.port, options.host, () => {
          server.off("error", reject);
          resolve();
        });
      }),
    address: () => server.address() as AddressInfo,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
