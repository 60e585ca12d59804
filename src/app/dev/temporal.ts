import { chmodSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { rememberedPort } from "./ports.ts";
import { endProcess, listProcesses } from "./processes.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import type { StartError } from "../../platform/start-error.ts";
import { untilReady } from "./ready.ts";
import { supervise } from "./supervisor.ts";
import type { Supervised } from "./supervisor.ts";

/** Options of the embedded Temporal development server. */
export interface TemporalOptions {
  /** Absolute data folder, locked by the caller; its file `temporal.db` stores the workflows. */
  folder: string;
  /** The program, from `findTemporalProgram`. */
  program: string;
  /** Namespace created at the start. Default `atrium`. */
  namespace?: string;
  /** Prints one line of progress. */
  log(line: string): void;
  /** Called once, when the server cannot be kept running. */
  onFatal(error: StartError): void;
  /** Called when the server's process exists: from then on, work that blocks this process does not delay it. */
  onSpawn?: () => void;
  /** Aborts the start while the server is not ready yet. */
  signal?: AbortSignal | undefined;
}

/** A running embedded Temporal server. */
export interface EmbeddedTemporal extends Supervised {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly namespace: string;
}

/**
 * SQLite settings: a write-ahead log that is flushed at checkpoints. A crash of any process loses nothing; a power cut
 * may lose the last moments, but does not corrupt the file. The default flushes every step and halves the throughput.
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
const NAME = "The Temporal development server";

/**
 * Starts the development server on 127.0.0.1 and restarts it when it ends. A server left running by a crash is stopped
 * first.
 * @throws StartError when it cannot be started.
 */
export async function startTemporal({
  folder,
  program,
  namespace = "atrium",
  log,
  onFatal,
  onSpawn,
  signal,
}: TemporalOptions): Promise<EmbeddedTemporal> {
  const database = join(folder, "temporal.db");
  const logFile = join(folder, "temporal.log");
  await stopLeftovers(database);
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

  async function start(abort: AbortSignal | undefined): Promise<ServerProcess> {
    await stopLeftovers(database);
    // A minimal environment: no TEMPORAL_ variable and no file in the user's home changes its settings.
    const env = { PATH: dirname(program), HOME: folder };
    restrictToOwner(database);
    const server = await startServer({
      command: "/bin/sh",
      args: ["-c", 'umask 077; exec "$0" "$@"', program, ...args],
      cwd: folder,
      env,
      logFile,
      stopSteps: STOP_STEPS,
    });
    onSpawn?.();
    // The client's libraries load slowly, so they load while the server starts.
    const { checkNamespace } = await import("../../platform/temporal/health.ts");
    return untilReady(server, {
      name: NAME,
      logFile,
      isReady: async () => (await checkNamespace({ address, namespace }, 1000)).state === "ok",
      withinMs: READY_MS,
      everyMs: 30,
      signal: abort,
    });
  }

  const supervised = await supervise({ name: NAME, start, signal, log, onFatal });
  return { ...supervised, address, namespace };
}

/**
 * Lets nobody else read the files of a database. The program makes them by its umask; those that earlier versions have
 * made have that of the user.
 */
function restrictToOwner(database: string): void {
  for (const file of [database, `${database}-wal`, `${database}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/** Stops a server that a crash left running on this data. */
async function stopLeftovers(database: string): Promise<void> {
  const ours = listProcesses().filter(({ args }) =>
    args.some((arg, index) => arg === database && args[index - 1] === "--db-filename"),
  );
  await Promise.all(ours.map(({ pid }) => endProcess(pid, STOP_STEPS)));
}
