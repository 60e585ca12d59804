import type { Domains } from "../domains/order.ts";
import type { ReadinessReport } from "../domains/operator/index.ts";
import { elapsed } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { NOT_CONNECTED } from "../worker/worker.ts";
import type { TemporalWorker } from "../worker/worker.ts";

/** Sources of {@link createReadiness}. */
export interface ReadinessParts {
  database: OpenDatabase;
  temporal: TemporalClient;
  clock: Clock;
  domains: Domains;
  /** The worker of this process, where it has one. */
  worker: Pick<TemporalWorker, "health"> | undefined;
}

/** How long a report is used, milliseconds. */
const CACHED_MS = 1_000;

/** A worker takes no work while its server is away, although it goes on asking for some. */
function workerHealth(worker: Pick<TemporalWorker, "health">, temporal: string): string {
  const own = worker.health();
  return (own === "ok" || own === NOT_CONNECTED) && temporal !== "ok" ? `Temporal is ${temporal}` : own;
}

/** Asks database and Temporal how they are, at most once a second however many ask. */
export function createReadiness({
  database,
  temporal,
  clock,
  domains,
  worker,
}: ReadinessParts): () => Promise<ReadinessReport> {
  let last: { at: number; report: Promise<ReadinessReport> } | undefined;
  async function ask(): Promise<ReadinessReport> {
    const [{ database: db, migrations }, { state: workflows }, vault] = await Promise.all([
      database.ready(),
      temporal.health(),
      domains.vault.seal.health(),
    ]);
    return {
      status: db === "ok" && migrations === "ok" ? "ok" : "unavailable",
      database: db,
      migrations,
      temporal: workflows,
      vault,
      ...(worker !== undefined && { worker: workerHealth(worker, workflows) }),
    };
  }
  return () => {
    const now = elapsed(clock);
    if (last === undefined || now - last.at >= CACHED_MS) last = { at: now, report: ask() };
    return last.report;
  };
}
