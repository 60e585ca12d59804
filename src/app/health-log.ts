import { elapsed } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { Log } from "../platform/log.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";

/** Sources of {@link createHealthLog}. */
export interface HealthLogParts {
  database: Pick<OpenDatabase, "ready">;
  temporal: Pick<TemporalClient, "health">;
  clock: Clock;
  log: Pick<Log, "info" | "warn">;
}

/** Logs when a server on which this process depends is lost, and when it is back. */
export interface HealthLog {
  start(): void;
  stop(): void;
}

/** Wait between two looks, milliseconds; a report takes at most 2 s more. */
const INTERVAL_MS = 3_000;

/**
 * Creates the log of the database and of Temporal. Requests and pollers that fail for want of them do not say so one by
 * one, and those that do not run at the time not at all.
 */
export function createHealthLog({ database, temporal, clock, log }: HealthLogParts): HealthLog {
  /** What was said of a server that is not in order, and since when. */
  const troubles = new Map<string, { state: string; since: number }>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function note(name: string, state: string, reason?: string): void {
    const trouble = troubles.get(name);
    if (state === trouble?.state) return;
    if (state !== "ok") {
      troubles.set(name, { state, since: trouble?.since ?? elapsed(clock) });
      log.warn({ ...(reason !== undefined && { reason }) }, `${name} is ${state}`);
    } else if (trouble !== undefined) {
      troubles.delete(name);
      const seconds = Math.round((elapsed(clock) - trouble.since) / 1_000);
      log.info({ seconds }, `${name} is in order again`);
    }
  }

  async function look(): Promise<void> {
    const [{ database: state, migrations, reason }, workflows] = await Promise.all([
      database.ready(),
      temporal.health(),
    ]);
    if (isStopped) return;
    const isBehind = state === "ok" && migrations !== "ok";
    note("The database", isBehind ? `not migrated: ${migrations}` : state, reason);
    note("Temporal", workflows);
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
