import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.ts";
import type { OperatorService } from "../../gen/atrium/operator/v1/operator_pb.ts";
import { errors } from "../platform/errors.ts";
import type { Metrics } from "../platform/metrics.ts";

/** State of the service and its dependencies; each member is `ok` or describes the fault (decisions 14). */
export interface ReadinessReport {
  /** `ok`, `unavailable`, or `draining` while the process finishes in-flight requests before it ends. */
  status: string;
  database: string;
  migrations: string;
  temporal: string;
  vault: string;
  /** Present in a process that runs workers; one that is down does not make the service unready. */
  worker?: string;
}

/** What health and metrics need. */
export interface OperatorDeps {
  readiness(): Promise<ReadinessReport>;
  /** Absent while metrics have a port of their own. */
  metrics: Metrics | undefined;
}

/** Whether requests can be served. A fault of Temporal or a sealed vault is reported, but the service stays ready. */
export function isReady(report: ReadinessReport): boolean {
  return report.status === "ok";
}

/** Describes for a person why the service is not ready. */
function describeFaults({ status, database, migrations }: ReadinessReport): string {
  const wrong = Object.entries({ database, migrations }).filter(([, state]) => state !== "ok");
  return wrong.length === 0 ? status : wrong.map(([name, state]) => `${name}: ${state}`).join("; ");
}

/** Implements liveness, readiness and metrics. */
export function operatorRpc({ readiness, metrics }: OperatorDeps): Partial<ServiceImpl<typeof OperatorService>> {
  return {
    getHealth: () => ({ status: "ok" }),
    getReadiness: async () => {
      const report = await readiness();
      if (!isReady(report))
        throw errors.unavailable({ message: `Not ready: ${describeFaults(report)}.`, document: report, retryAfter: 1 });
      return create(HttpBodySchema, { contentType: "application/json", data: Buffer.from(JSON.stringify(report)) });
    },
    getMetrics: async () => {
      if (metrics === undefined) throw errors.noRoute();
      return create(HttpBodySchema, {
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        data: Buffer.from(await metrics.text()),
      });
    },
  };
}
