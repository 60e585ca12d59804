import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { rememberedPort } from "./ports.ts";
import { endProcess, listProcesses } from "./processes.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { StartError } from "../../platform/start-error.ts";
import { supervise } from "./supervisor.ts";
import type { Supervised } from "./supervisor.ts";

/** What the embedded Temporal development server needs to know. */
export interface TemporalOptions {
  /** Absolute data folder, locked by the caller; workflows are kept in `temporal.db` inside. */
  folder: string;
  /** The program, from `temporalProgram`. */
  program: string;
  /** Namespace made at the start. Default `atrium`. */
  namespace?: string;
  /** One line about what goes on. */
  log(line: string): void;
  /** Called once when it cannot be kept alive. */
  onFatal(error: StartError): void;
  /** Called when the server's process exists and gets ready by itself: time for work that blocks ours. */
  onSpawn?: () => void;
}

/** A running Temporal server of our own. */
export interface EmbeddedTemporal extends Supervised {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly namespace: string;
}

/**
 * How it keeps its file: a write-ahead log that is flushed at checkpoints. A crash of any process loses nothing; a
 * power cut may take the last moments, but never the order of the file. Its default flushes every step and halves what
 * it can do.
 */
export const TEMPORAL_FILE_ARGS: readonly string[] = [
  "--sqlite-pragma",
  "journal_mode=wal",
  "--sqlite-pragma",
  "synchronous=normal",
];

const STOP_STEPS = [
  ["SIGTERM", 2000],
  ["SIGKILL", 1000],
] as const;
const READY_MS = 30_000;

/**
 * Starts the development server on 127.0.0.1 and keeps it alive. One left over from a crash is ended first.
 * @throws StartError in one line when it cannot be started.
 */
export async function startTemporal({
  folder,
  program,
  namespace = "atrium",
  log,
  onFatal,
  onSpawn,
}: TemporalOptions): Promise<EmbeddedTemporal> {
  const database = join(folder, "temporal.db");
  const logFile = join(folder, "temporal.log");
  await endLeftovers(database);
  const port = await rememberedPort(folder, "temporal");
  const address = `127.0.0.1:${port}`;
  const args = [
    "server",
    "start-dev",
    "--headless",
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--db-filename",
    database,
    ...TEMPORAL_FILE_ARGS,
    "--namespace",
    namespace,
    "--log-level",
    "error",
  ];

  async function start(): Promise<ServerProcess> {
    await endLeftovers(database);
    // Its own settings come from here alone: no TEMPORAL_ variable, no file in the person's home.
    const env = { PATH: dirname(program), HOME: folder };
    const server = await startServer({ command: program, args, cwd: folder, env, logFile, stopSteps: STOP_STEPS });
    onSpawn?.();
    // The client's libraries are heavy: loaded while the server starts.
    const { checkNamespace } = await import("../../platform/temporal/health.ts");
    const until = Date.now() + READY_MS;
    while ((await checkNamespace({ address, namespace }, 1000)) !== "ok") {
      const end = server.ended();
      if (end !== undefined)
        throw new StartError(
          `The Temporal development server did not start (${end}): ${server.lastWords()}; its log is ${logFile}`,
        );
      if (Date.now() > until) {
        await server.stop();
        throw new StartError(
          `The Temporal development server was not ready after ${READY_MS / 1000} s; its log is ${logFile}`,
        );
      }
      await sleep(30);
    }
    return server;
  }

  const supervised = await supervise({ name: "The Temporal development server", start, log, onFatal });
  return { ...supervised, address, namespace };
}

/** Ends a server that a crash left running on this data. */
async function endLeftovers(database: string): Promise<void> {
  const ours = listProcesses().filter(({ args }) =>
    args.some((arg, index) => arg === database && args[index - 1] === "--db-filename"),
  );
  await Promise.all(ours.map(({ pid }) => endProcess(pid, STOP_STEPS)));
}
