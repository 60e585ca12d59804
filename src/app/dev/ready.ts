import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../../platform/start-error.ts";
import type { ServerProcess } from "./server-process.ts";

/** When a server that has begun counts as started. */
export interface Readiness {
  /** For messages: `PostgreSQL`. */
  name: string;
  logFile: string;
  isReady(): boolean | Promise<boolean>;
  /** Time that it gets, and pause between two looks, milliseconds. */
  withinMs: number;
  everyMs: number;
  /** Stops the server and ends the wait. */
  signal: AbortSignal | undefined;
}

/**
 * Waits until a server is ready. One that is not ready in time is stopped.
 * @throws {StartError} when it ends or is not ready in time
 * @throws the reason of the signal
 */
export async function untilReady(
  server: ServerProcess,
  { name, logFile, isReady, withinMs, everyMs, signal }: Readiness,
): Promise<ServerProcess> {
  const until = Date.now() + withinMs;
  while (!(await isReady())) {
    if (signal?.aborted === true) await server.stop();
    signal?.throwIfAborted();
    const end = server.ended();
    if (end !== undefined)
      throw new StartError(`${name} did not start (${end}): ${server.lastErrors()}; its log is ${logFile}`);
    if (Date.now() > until) {
      await server.stop();
      throw new StartError(`${name} was not ready after ${withinMs / 1000} s; its log is ${logFile}`);
    }
    await sleep(everyMs);
  }
  return server;
}
