import type { Metrics } from "../../platform/metrics.ts";

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

/** The state of the process that health and metrics report. */
export interface ProcessState {
  readiness(): Promise<ReadinessReport>;
  /** Undefined where metrics have a port of their own. */
  metrics: Pick<Metrics, "text"> | undefined;
}

/** Whether requests can be served. A fault of Temporal or a sealed vault is reported, but the service stays ready. */
export function isReady(report: ReadinessReport): boolean {
  return report.status === "ok";
}

/** Describes for a person why the service is not ready. */
export function describeFaults({ status, database, migrations }: ReadinessReport): string {
  const wrong = Object.entries({ database, migrations }).filter(([, state]) => state !== "ok");
  return wrong.length === 0 ? status : wrong.map(([name, state]) => `${name}: ${state}`).join("; ");
}
