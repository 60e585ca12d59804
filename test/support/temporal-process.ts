import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findTemporalProgram } from "../../src/app/dev/temporal-program.ts";
import { freePort } from "./postgres.ts";

/**
 * Home of the servers, so that they read no settings of a person. All share it, because a run that is killed removes
 * nothing: the program keeps in it when it last asked for a newer version.
 */
const HOME = join(import.meta.dirname, "../../node_modules/.cache/temporal-home");

/** A Temporal development server for tests, starting. */
export interface TestTemporal {
  /** `127.0.0.1:port`; accepts connections soon. */
  address: string;
  stop(): Promise<void>;
}

/**
 * Uses `TEST_TEMPORAL_ADDRESS`, else begins to start a server of our own that keeps everything in memory; nobody waits
 * for it here. With settings of its dynamic configuration (`name=JSON`) it is always one of our own.
 */
export async function startTemporal(settings: readonly string[] = []): Promise<TestTemporal> {
  const given = process.env["TEST_TEMPORAL_ADDRESS"];
  if (given !== undefined && settings.length === 0) return { address: given, stop: () => Promise.resolve() };
  const port = await freePort();
  const giveUp = new AbortController();
  const started = start(port, settings, giveUp.signal);
  started.catch((error: unknown) => {
    if (!giveUp.signal.aborted) console.error("Temporal for the tests did not start:", error);
  });
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      giveUp.abort();
      const server = await started.catch(() => undefined);
      if (server !== undefined) await end(server);
    },
  };
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill();
  const timer = setTimeout(() => server.kill("SIGKILL"), 3_000);
  await ended;
  clearTimeout(timer);
}

async function start(port: number, settings: readonly string[], signal: AbortSignal): Promise<ChildProcess> {
  const program = await findTemporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: (line) => console.log(`atrium: ${line}`),
    signal,
  });
  await mkdir(HOME, { recursive: true });
  signal.throwIfAborted();
  const args = [
    "server",
    "start-dev",
    "--headless",
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--log-level",
    "error",
    ...settings.flatMap((setting) => ["--dynamic-config-value", setting]),
  ];
  const server = spawn(program, args, { stdio: "ignore", env: { HOME } });
  // A run that a signal ends does not come to `stop`, and would leave the server.
  const kill = (): void => void server.kill("SIGKILL");
  process.once("exit", kill);
  server.once("exit", () => process.off("exit", kill));
  return server;
}
