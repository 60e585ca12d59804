import { elapsed } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { Log } from "../platform/log.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { clockDifference } from "./clock-difference.ts";

/** Sources of {@link createHealthLog}. */
export interface HealthLogParts {
  database: Pick<OpenDatabase, "ready" | "identifying">;
  temporal: Pick<TemporalClient, "health">;
  clock: Clock;
  log: Pick<Log, "info" | "warn">;
}

/** Logs when a server on which this process depends is lost, when its clock differs, and when all is well again. */
export interface HealthLog {
  start(): void;
  stop(): void;
}

/** Wait between two looks, milliseconds; a report takes at most 2 s more. */
const INTERVAL_MS = 3_000;
/** Difference of the clocks that is logged, milliseconds. */
const MAX_DIFFERENCE_MS = 5_000;

/**
 * Creates the log of the database, of Temporal and of the clock. Requests and pollers that fail for want of a server do
 * not say so one by one, and those that do not run at the time not at all.
 */
export function createHealthLog({ database, temporal, clock, log }: HealthLogParts): HealthLog {
  /** What was said of a server that is not in order, and since when. */
  const troubles = new Map<string, { state: string; since: number }>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function note(name: string, state: string, details: object = {}): void {
    const trouble = troubles.get(name);
    if (state === trouble?.state) return;
    if (state !== "ok") {
      troubles.set(name, { state, since: trouble?.since ?? elapsed(clock) });
      log.warn(details, `${name} is ${state}`);
    } else if (trouble !== undefined) {
      troubles.delete(name);
      const seconds = Math.round((elapsed(clock) - trouble.since) / 1_000);
      log.info({ seconds }, `${name} is in order again`);
    }
  }

  function noteClock(ahead: number): void {
    const difference = { difference_seconds: Math.round(Math.abs(ahead) / 1_000) };
    if (Math.abs(ahead) <= MAX_DIFFERENCE_MS) note("The clock", "ok");
    else note("The clock", `${ahead > 0 ? "ahead of" : "behind"} the database's`, difference);
  }

  async function look(): Promise<void> {
    const [{ database: state, migrations, reason }, workflows, ahead] = await Promise.all([
      database.ready(),
      temporal.health(),
      clockDifference(database, clock).catch(() => undefined),
    ]);
    if (isStopped) return;
    const isBehind = state === "ok" && migrations !== "ok";
    note("The database", isBehind ? `not migrated: ${migrations}` : state, detailsOf({ reason }));
    note("Temporal", workflows.state, detailsOf(workflows));
    if (ahead !== undefined) noteClock(ahead);
    timer = setTimeout(() => void look(), INTERVAL_MS).unref();
  }

  return {
    start: () => void look(),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

const detailsOf = ({ reason }: { reason?: string | undefined }): object => (reason === undefined ? {} : { reason });
