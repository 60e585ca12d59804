import type { ServerResponse } from "node:http";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.ts";
import type { OperatorService } from "../../gen/atrium/operator/v1/operator_pb.ts";
import { errors } from "../platform/errors.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { PlainHandler } from "./routes.ts";

/** How things stand; each member `ok` or what is wrong (decisions 14). */
export interface ReadinessReport {
  status: string;
  database: string;
  migrations: string;
  temporal: string;
  vault: string;
}

/** What health and metrics are answered from. */
export interface OperatorDeps {
  readiness(): Promise<ReadinessReport>;
  /** Absent while metrics have a port of their own. */
  metrics: Metrics | undefined;
}

/** Whether requests can be served: Temporal away or a sealed vault are told, but do not make the service unready. */
export function isReady(report: ReadinessReport): boolean {
  return report.status === "ok";
}

/** Liveness, readiness and metrics. */
export function operatorRpc({ readiness, metrics }: OperatorDeps): Partial<ServiceImpl<typeof OperatorService>> {
  return {
    getHealth: () => ({ status: "ok" }),
    getReadiness: async () => {
      const report = await readiness();
      if (!isReady(report)) throw errors.unavailable({ message: JSON.stringify(report), retryAfter: 1 });
      return create(HttpBodySchema, { contentType: "application/json", data: Buffer.from(JSON.stringify(report)) });
    },
    getMetrics: async () => {
      if (metrics === undefined) throw errors.noRoute();
      return create(HttpBodySchema, { contentType: "text/plain; version=0.0.4; charset=utf-8", data: Buffer.from(await metrics.text()) });
    },
  };
}

/** `GET /readyz` over plain HTTP, where a 503 carries the report as well. */
export function readyzPage(readiness: OperatorDeps["readiness"]): PlainHandler {
  return (request, rawResponse) => {
    // HTTP/2's response has the same two methods.
    const response = rawResponse as ServerResponse;
    if (request.url?.split("?")[0] !== "/readyz" || (request.method !== "GET" && request.method !== "HEAD")) return false;
    void readiness().then((report) => {
      const ready = isReady(report);
      response.writeHead(ready ? 200 : 503, { "content-type": "application/json", "cache-control": "no-store", ...(ready ? {} : { "retry-after": "1" }) });
      response.end(request.method === "HEAD" ? undefined : JSON.stringify(report));
    });
    return true;
  };
}
