import type { Config } from "../platform/config.ts";
import type { OpenDatabase, Outbox } from "../platform/db/index.ts";
import { StartError } from "../platform/start-error.ts";
import { remembered } from "../platform/metrics.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { createMetricsPort } from "../server/metrics-port.ts";
import type { Dispatcher } from "../worker/dispatcher.ts";
import type { TemporalWorker } from "../worker/worker.ts";
import { version } from "./version.ts";

/** What is looked at. */
export interface Observed {
  config: Config;
  metrics: Metrics;
  database: OpenDatabase;
  outbox: Outbox;
  temporal: TemporalClient;
  /** Undefined in a process that does no work in the background. */
  work:
    | {
        dispatcher: Dispatcher;
        worker: TemporalWorker;
        pump: { running(): number; places(): { active: number; silent: number } };
      }
    | undefined;
}

/** Metrics port and traces of a process. */
export interface Observation {
  start(): Promise<void>;
  /** Ends the metrics port. */
  closeMetrics(): Promise<void>;
  /** Sends the last spans; to be called when nothing is done any more. */
  stopTracing(): Promise<void>;
}

/**
 * Reads the whole program for metrics, and gives it a metrics port and traces where the configuration asks for them.
 */
export function composeObservation(observed: Observed): Observation {
  const { config, metrics } = observed;
  storeGauges(observed);
  if (observed.work !== undefined) workGauges(observed, observed.work);
  const port =
    config.metricsPort === undefined
      ? undefined
      : createMetricsPort({ host: config.host, port: config.metricsPort, metrics });
  let endTraces: (() => Promise<void>) | undefined;
  return {
    async start() {
      if (config.otlpEndpoint !== undefined) {
        const { startTracing } = await import("../platform/tracing.ts");
        endTraces = await startTracing({ endpoint: config.otlpEndpoint, version: version() });
      }
      await port?.listen().catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        throw new StartError(
          `Metrics cannot be served on ${config.host}:${config.metricsPort} ` +
            `(${code === "EADDRINUSE" ? "the port is in use" : (code ?? "error")}); set SERVICE_METRICS_PORT.`,
          error,
        );
      });
    },
    async closeMetrics() {
      await port?.close();
    },
    async stopTracing() {
      await endTraces?.();
    },
  };
}

/** How long figures that cost a read of the tables are told again, milliseconds, however often somebody asks. */
const REMEMBERED_MS = 10_000;

function storeGauges({ metrics, database, outbox, temporal }: Observed): void {
  const [counts, oldestAge] = [
    remembered(() => outbox.counts(), REMEMBERED_MS),
    remembered(() => outbox.oldestAge(), REMEMBERED_MS),
  ];
  const pools = (of: "total" | "waiting") => Object.values(database.pools()).reduce((sum, pool) => sum + pool[of], 0);
  const byTopic = async (of: "rows" | "failing") =>
    Object.fromEntries((await counts()).map((one) => [one.topic, one[of]]));
  metrics.gauge("atrium_database_connections", "Connections to PostgreSQL.", () => pools("total"));
  metrics.gauge("atrium_database_waiting", "Calls that wait for a connection to PostgreSQL.", () => pools("waiting"));
  metrics.gauge(
    "atrium_outbox_oldest_age_seconds",
    "How long the oldest due message of the outbox has been waiting.",
    async () => (await oldestAge()) / 1_000,
  );
  metrics.gauges("atrium_outbox_rows", "Messages in the outbox.", "topic", () => byTopic("rows"));
  metrics.gauges("atrium_outbox_failing_rows", "Messages in the outbox that failed at least once.", "topic", () =>
    byTopic("failing"),
  );
  metrics.gauge("atrium_temporal_up", "1 while Temporal answers and has the namespace.", async () =>
    Number((await temporal.health()) === "ok"),
  );
}

function workGauges({ metrics }: Observed, { dispatcher, worker, pump }: NonNullable<Observed["work"]>): void {
  metrics.gauge("atrium_worker_running", "1 while the Temporal worker takes work.", () =>
    Number(worker.health() === "ok"),
  );
  metrics.gauge(
    "atrium_worker_failures",
    "How often the Temporal worker lost its server or could not reach it.",
    () => worker.failures().count,
  );
  metrics.gauge(
    "atrium_worker_last_failure_timestamp_seconds",
    "When that was last; 0: never.",
    () => worker.failures().lastAt / 1_000,
  );
  metrics.gauges("atrium_dispatcher_running", "Messages of the outbox in hand.", "topic", () => dispatcher.running());
  metrics.gauge("atrium_webhook_attempts_running", "First attempts of webhook deliveries in flight.", () =>
    pump.running(),
  );
  metrics.gauges(
    "atrium_webhook_places",
    "Places of first attempts in use: by posts just sent, and by those met with silence.",
    "state",
    () => pump.places(),
  );
}
