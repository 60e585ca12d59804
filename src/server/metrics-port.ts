import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "../platform/metrics.ts";
import { NOSNIFF } from "./print.ts";

const JSON_TYPE = "application/json";
const HEADERS = { ...NOSNIFF, "cache-control": "no-store" };

/** A separate port for metrics and probes (`SERVICE_METRICS_PORT`); then the public port does not expose metrics. */
export interface MetricsPort {
  /** @throws node's error, such as `EADDRINUSE` */
  listen(): Promise<void>;
  address(): AddressInfo;
  close(): Promise<void>;
}

/** State of the process, as the probes of the port report it. */
export interface ProbedState {
  isReady: boolean;
  report: object;
}

/** Settings of {@link createMetricsPort}. */
export interface MetricsPortOptions {
  host: string;
  port: number;
  metrics: Metrics;
  readiness: () => Promise<ProbedState>;
}

/**
 * Serves `GET /metrics`, and `/healthz` and `/readyz` as the public port does: a process of background work has no
 * other port.
 */
export function createMetricsPort({ host, port, metrics, readiness }: MetricsPortOptions): MetricsPort {
  const pages: Readonly<Record<string, () => Promise<[status: number, type: string, body: string]>>> = {
    "/metrics": async () => [200, "text/plain; version=0.0.4; charset=utf-8", await metrics.text()],
    "/healthz": async () => [200, JSON_TYPE, JSON.stringify({ status: "ok" })],
    "/readyz": async () => {
      const { isReady, report } = await readiness();
      return [isReady ? 200 : 503, JSON_TYPE, JSON.stringify(report)];
    },
  };
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 60_000 },
    (request, response) => {
      const path = request.url ?? "";
      const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
      if (page === undefined || (request.method !== "GET" && request.method !== "HEAD")) {
        response.writeHead(404, NOSNIFF).end();
        return;
      }
      page().then(
        ([status, type, body]) => response.writeHead(status, { ...HEADERS, "content-type": type }).end(body),
        () => response.writeHead(503, NOSNIFF).end(),
      );
    },
  );
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
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
