import { setTimeout as sleep } from "node:timers/promises";
import type { ServerProcess } from "./server-process.ts";
import { StartError } from "../../platform/start-error.ts";

/** A server to keep running. */
export interface SupervisedServer {
  /** For messages: `PostgreSQL`. */
  name: string;
  /** Starts it; resolves when it is ready. Called again each time it has ended, then without a signal. */
  start(signal: AbortSignal | undefined): Promise<ServerProcess>;
  /** Aborts the first start alone: a server that ends while requests are drained is restarted. */
  signal?: AbortSignal | undefined;
  /** Prints one line of progress. */
  log(line: string): void;
  /** Called once, after three failures in a row. */
  onFatal(error: StartError): void;
  /**
   * Pauses before the second and third attempt, and the run time after which a failure is the first of a new series;
   * milliseconds.
   */
  pauses?: readonly [number, number];
  stableAfterMs?: number;
}

/** A server that is restarted when it ends. */
export interface Supervised {
  /** Process id; undefined while it is being restarted. */
  pid(): number | undefined;
  /** Stops it and does not restart it; resolves when it has ended. */
  stop(): Promise<void>;
  /** Signals it to stop without waiting, for a process that exits now. */
  abandon(): void;
}

const MAX_FAILURES = 3;

/**
 * Starts a server and restarts it when it ends. The first start must succeed. Later, three failures in a row (a start
 * that fails, or an end within seconds of one) are fatal.
 * @throws what the first start throws.
 */
export async function supervise(server: SupervisedServer): Promise<Supervised> {
  const pauses = server.pauses ?? [500, 1000];
  const stableAfterMs = server.stableAfterMs ?? 3000;
  let running: ServerProcess | undefined = await server.start(server.signal);
  let stopping = false;
  let failures = 0;
  const life = watch(running);

  async function watch(first: ServerProcess): Promise<void> {
    let current = first;
    let since = Date.now();
    while (!stopping) {
      const how = await current.exited;
      running = undefined;
      if (stopping) return;
      failures = Date.now() - since >= stableAfterMs ? 0 : failures + 1;
      server.log(`${server.name} ended (${how}); restarting it`);
      const next = await restart(how);
      if (next === undefined) return;
      current = next;
      since = Date.now();
    }
  }

  async function restart(how: string): Promise<ServerProcess | undefined> {
    let reason = how;
    while (failures < MAX_FAILURES) {
      const pause = failures === 0 ? 0 : pauses[failures - 1];
      if (pause !== undefined && pause > 0) await sleep(pause);
      if (stopping) return undefined;
      try {
        const next = await server.start(undefined);
        running = next;
        if (!stopping) return next;
        await next.stop();
        return undefined;
      } catch (error) {
        failures += 1;
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    if (!stopping) server.onFatal(new StartError(`${server.name} failed ${MAX_FAILURES} times in a row: ${reason}`));
    return undefined;
  }

  return {
    pid: () => running?.pid,
    async stop() {
      stopping = true;
      await running?.stop();
      await life;
    },
    abandon() {
      stopping = true;
      running?.abandon();
    },
  };
}
