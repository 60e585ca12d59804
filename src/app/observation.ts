import { isReady } from "../domains/operator/index.ts";
import type { ReadinessReport } from "../domains/operator/index.ts";
import type { FirstAttempts } from "../domains/webhooks/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { OpenDatabase, Outbox } from "../platform/db/index.ts";
import { StartError } from "../platform/start-error.ts";
import { cachedRead } from "../platform/metrics.ts";
import type { Metrics } from "../platform/metrics.ts";
import { exportPollers } from "../platform/poller-metrics.ts";
import type { Poller } from "../platform/poller.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { createMetricsPort } from "../server/metrics-port.ts";
import type { Dispatcher } from "../worker/dispatcher.ts";
import type { TemporalWorker } from "../worker/worker.ts";
import { clockDifference } from "./clock-difference.ts";
import { version } from "./version.ts";

/** Sources of the metrics. */
export interface Observed {
  config: Config;
  metrics: Metrics;
  database: OpenDatabase;
  clock: Clock;
  outbox: Outbox;
  temporal: TemporalClient;
  /** Undefined in a process without background work. */
  work: ObservedWork | undefined;
  readiness: () => Promise<ReadinessReport>;
}

interface ObservedWork {
  dispatcher: Dispatcher;
  worker: TemporalWorker;
  pollers: readonly Poller[];
  firstAttempts: FirstAttempts;
  refusedMails(): number;
}

/** Metrics port and traces of a process. */
export interface Observation {
  start(): Promise<void>;
  /** Closes the metrics port. */
  closeMetrics(): Promise<void>;
  /** Sends the last spans; called after all work has ended. */
  stopTracing(): Promise<void>;
}

/** Registers the metrics of the whole program; opens the metrics port and exports traces where configured. */
export function composeObservation(observed: Observed): Observation {
  const { config, metrics, readiness } = observed;
  storeGauges(observed);
  if (observed.work !== undefined) {
    workGauges(observed, observed.work);
    exportPollers(metrics, observed.work.pollers);
  }
  const port =
    config.metricsPort === undefined
      ? undefined
      : createMetricsPort({
          host: config.host,
          port: config.metricsPort,
          metrics,
          readiness: async () => {
            const report = await readiness();
            return { isReady: isReady(report), report };
          },
        });
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

/** How long gauges read from tables are cached, however often metrics are scraped. */
const CACHED_MS = 10_000;

function storeGauges({ metrics, database, clock, outbox, temporal }: Observed): void {
  const [counts, oldestAge, clockAhead] = [
    cachedRead(() => outbox.counts(), CACHED_MS),
    cachedRead(() => outbox.oldestAge(), CACHED_MS),
    cachedRead(() => clockDifference(database, clock), CACHED_MS),
  ];
  const pools = (of: "total" | "waiting") => Object.values(database.pools()).reduce((sum, pool) => sum + pool[of], 0);
  const byTopic = async (of: "rows" | "failing") =>
    Object.fromEntries((await counts()).map((one) => [one.topic, one[of]]));
  metrics.gauge("atrium_database_connections", "Connections to PostgreSQL.", () => pools("total"));
  metrics.gauge("atrium_database_waiting", "Calls waiting for a connection to PostgreSQL.", () => pools("waiting"));
  metrics.gauge(
    "atrium_clock_difference_seconds",
    "By how much the clock of this process is ahead of PostgreSQL's; negative where it is behind.",
    async () => (await clockAhead()) / 1_000,
  );
  metrics.gauge(
    "atrium_outbox_oldest_age_seconds",
    "How long the oldest due outbox message has been waiting, or since when the oldest one that fails exists.",
    async () => (await oldestAge()) / 1_000,
  );
  metrics.gauges("atrium_outbox_rows", "Outbox messages.", "topic", () => byTopic("rows"));
  metrics.gauges("atrium_outbox_failing_rows", "Outbox messages that failed at least once.", "topic", () =>
    byTopic("failing"),
  );
  metrics.gauges(
    "atrium_outbox_failing_age_seconds",
    "Age of the oldest outbox message that failed at least once.",
    "topic",
    async () => Object.fromEntries((await counts()).map((one) => [one.topic, one.failingMs / 1_000])),
  );
  metrics.gauge("atrium_temporal_up", "1 while Temporal responds and has the namespace.", async () =>
    Number((await temporal.health()).state === "ok"),
  );
}

function workGauges({ metrics }: Observed, { dispatcher, worker, firstAttempts, refusedMails }: ObservedWork): void {
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
    "Time of the last of these failures; 0 when there was none.",
    () => worker.failures().lastAt / 1_000,
  );
  metrics.gauges("atrium_dispatcher_running", "Outbox messages being handled.", "topic", () => dispatcher.inFlight());
  metrics.gauge("atrium_mails_refused", "Mails that were refused for good and ended, since the start.", refusedMails);
  metrics.gauge("atrium_webhook_attempts_running", "First attempts of webhook deliveries in flight.", () =>
    firstAttempts.inFlight(),
  );
  metrics.gauges(
    "atrium_webhook_places",
    "Places of first attempts in use: by posts just sent, and by posts whose endpoint has been silent.",
    "state",
    () => firstAttempts.places(),
  );
}
