import { Counter, Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";
import type { Poller, PollerStats } from "./poller.ts";

/** Exports the counters of all pollers as `atrium_poller_*`, labelled by poller. */
export function exportPollers({ registry }: Pick<Metrics, "registry">, pollers: readonly Poller[]): void {
  function counter(name: string, help: string, read: (stats: Readonly<PollerStats>) => number): void {
    new Counter({
      name,
      help,
      labelNames: ["poller"],
      registers: [registry],
      collect() {
        this.reset();
        for (const poller of pollers) this.inc({ poller: poller.name }, read(poller.stats()));
      },
    });
  }
  function gauge(name: string, help: string, read: (poller: Poller) => number): void {
    new Gauge({
      name,
      help,
      labelNames: ["poller"],
      registers: [registry],
      collect() {
        for (const poller of pollers) this.set({ poller: poller.name }, read(poller));
      },
    });
  }
  counter("atrium_poller_runs_total", "Runs of a poller, failed ones included.", ({ runs }) => runs);
  counter("atrium_poller_failures_total", "Failed runs of a poller.", ({ failures }) => failures);
  counter("atrium_poller_run_seconds_total", "Duration of all runs of a poller.", ({ seconds }) => seconds);
  gauge(
    "atrium_poller_last_success_timestamp_seconds",
    "End of the last successful run of a poller; 0 when none has succeeded.",
    (poller) => poller.stats().lastSuccessAt / 1_000,
  );
  gauge("atrium_poller_in_flight", "Work a poller has begun and not finished.", (poller) => poller.inFlight());
}
