import { setTimeout as sleep } from "node:timers/promises";
import type { ServerProcess } from "./server-process.ts";
import { StartError } from "../../platform/start-error.ts";

/** What to keep running. */
export interface SupervisedServer {
  /** For messages: `PostgreSQL`. */
  name: string;
  /** Starts it and resolves when it answers. Called again, with the same port, each time it died. */
  start(): Promise<ServerProcess>;
  /** One line about what goes on. */
  log(line: string): void;
  /** Called once, after three failures in a row. */
  onFatal(error: StartError): void;
  /**
   * Pauses before the second and third try, and how long it must have lived for its death to begin a new row;
   * milliseconds.
   */
  pauses?: readonly [number, number];
  soundAfterMs?: number;
}

/** A server that is started again when it dies. */
export interface Supervised {
  /** Process id of the present incarnation; undefined between two. */
  pid(): number | undefined;
  /** Ends it for good; resolves when it is gone. */
  stop(): Promise<void>;
  /** Asks it to end without waiting, for a process that exits now. */
  abandon(): void;
}

const MAX_FAILURES = 3;

/**
 * Starts a server and keeps it alive. The first start must succeed; later a death is answered by a
 * start at once, and three failures in a row (a start that failed, or a death within seconds of one) end it.
 * @throws whatever the first start throws.
 */
export async function supervise(server: SupervisedServer): Promise<Supervised> {
  const pauses = server.pauses ?? [500, 1000];
  const soundAfterMs = server.soundAfterMs ?? 3000;
  let running: ServerProcess | undefined = await server.start();
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
      failures = Date.now() - since >= soundAfterMs ? 0 : failures + 1;
      server.log(`${server.name} ended (${how}); starting it again.`);
      const next = await startAgain(how);
      if (next === undefined) return;
      current = next;
      since = Date.now();
    }
  }

  async function startAgain(how: string): Promise<ServerProcess | undefined> {
    let reason = how;
    while (failures < MAX_FAILURES) {
      const pause = failures === 0 ? 0 : pauses[failures - 1];
      if (pause !== undefined && pause > 0) await sleep(pause);
      if (stopping) return undefined;
      try {
        const next = await server.start();
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
