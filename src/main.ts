import { setTimeout as sleep } from "node:timers/promises";
import type { App, Role } from "./app/app.ts";
import { systemClock } from "./platform/clock.ts";
import { ConfigError, readConfig } from "./platform/config.ts";
import type { Config } from "./platform/config.ts";
import { demandPort } from "./app/dev/ports.ts";
import { StartError } from "./platform/start-error.ts";
import { createLog } from "./platform/log.ts";
import type { Log } from "./platform/log.ts";
import { systemRandom } from "./platform/random.ts";
import { readArguments, version } from "./launch/arguments.ts";
import { firstSecrets, startServers } from "./launch/infrastructure.ts";
import type { Servers } from "./launch/infrastructure.ts";
import { printResetLink, printStatus } from "./launch/status.ts";
import { listenForStop } from "./launch/stop-request.ts";
import type { StopReason, StopRequest } from "./launch/stop-request.ts";

/** What is in flight gets this long to finish, milliseconds; little after a failure. */
const GRACE_MS = 10_000;
const GRACE_AFTER_FAILURE_MS = 2_000;
/** Patience with a start that is interrupted. */
const HALF_STARTED_MS = 3_000;
/** The whole shutdown; then the rest is cut off. */
const SHUTDOWN_MS = 14_000;

/** A process on its way: what has been started and is to be stopped again. */
interface Running {
  readonly config: Config;
  readonly log: Log;
  readonly say: (line: string) => void;
  servers?: Servers;
  app?: App;
}

async function main(): Promise<void> {
  const command = readArguments(process.argv.slice(2));
  if ("print" in command) return void process.stdout.write(command.print);
  if ("verify" in command) {
    process.exitCode = await proveAudit(command.verify);
    return;
  }
  const config = readConfig(process.env, { databaseOnly: "run" in command && command.run === "migrate" });
  const log = openLog(config);
  if ("resetPassword" in command) {
    await printResetLink(config, command.resetPassword, log, (text) => process.stdout.write(text));
    return;
  }
  const say = config.development
    ? (line: string) => void process.stdout.write(`${line}\n`)
    : (line: string) => log.info(line);
  if (command.run === "status") {
    process.exitCode = await printStatus(config, log, (text) => process.stdout.write(text));
    return;
  }
  const running: Running = { config, log, say };
  const stop = listenForStop(
    (error) => log.fatal({ err: error }, "an error nobody caught"),
    () => {
      running.servers?.abandon();
      process.exit(1);
    },
  );
  const start = command.run === "migrate" ? migrateOnly(running, stop) : startAll(running, stop, command.run);
  const outcome = start.then(
    (done) => done ?? stop.reason,
    (error: unknown): StopReason => ({ exitCode: 1, error }),
  );
  await end(
    running,
    await Promise.race([stop.reason, outcome]),
    stop,
    start.catch(() => undefined),
  );
}

/** Paths are meant from where npm was called, or from here. */
async function proveAudit(what: { file: string; jwks: string }): Promise<number> {
  const { verifyAudit } = await import("./app/verify-audit.ts");
  const folders = [process.cwd(), process.env["INIT_CWD"] ?? process.cwd()];
  return verifyAudit({
    ...what,
    folders,
    say: (line) => void process.stdout.write(`${line}\n`),
    complain: (line) => void process.stderr.write(`${line}\n`),
  });
}

/** Starts a process that serves or works. */
async function startAll(running: Running, stop: StopRequest, role: Role): Promise<undefined> {
  const { config, log, say } = running;
  say(`Atrium ${version()}, ${config.profile} profile${config.development ? `, data in ${config.dataDir}` : ""}`);
  // Said before anything is started for nothing.
  if (role !== "worker") await demandPort(config.host, config.port);
  const servers = openServers(running, stop, false);
  // Most of the program is loaded while the servers start, but not so soon that it keeps them from starting.
  await servers.spawned;
  const composing = import("./app/program.ts");
  composing.catch(() => undefined);
  const secrets = firstSecrets(config);
  const { url } = await migrateDatabase(running, servers);
  stop.signal.throwIfAborted();
  const temporal = await servers.temporal;
  const { compose } = await composing;
  stop.signal.throwIfAborted();
  running.app = await compose(config, {
    role,
    databaseUrl: url,
    temporal,
    ...secrets,
    log,
    clock: systemClock,
    random: systemRandom,
  });
  stop.signal.throwIfAborted();
  const { address, bootstrapped } = await running.app.start();
  say(address === undefined ? "Working" : `Ready on ${config.baseUrlGiven ? config.baseUrl : address}`);
  if (bootstrapped && config.development && secrets.bootstrap !== undefined) {
    const { org, email, password } = secrets.bootstrap;
    say(`First login, shown this once: ${email} with password ${password} (organization ${org})`);
  }
  return undefined;
}

async function migrateOnly(running: Running, stop: StopRequest): Promise<StopReason> {
  await migrateDatabase(running, openServers(running, stop, true));
  return { exitCode: 0, error: undefined };
}

function openServers(running: Running, stop: StopRequest, databaseOnly: boolean): Servers {
  const { config, say } = running;
  const { PATH, XDG_CACHE_HOME } = process.env;
  running.servers = startServers(config, {
    env: { PATH, XDG_CACHE_HOME },
    say,
    signal: stop.signal,
    onFatal: stop.fail,
    databaseOnly,
  });
  return running.servers;
}

async function migrateDatabase({ log, say }: Running, servers: Servers): Promise<{ url: string }> {
  await servers.spawned;
  const [{ migrate }, { migrations }] = await Promise.all([
    import("./platform/db/index.ts"),
    import("./migrations/index.ts"),
  ]);
  const { url, migrationUrl } = await servers.database;
  const appUrl = url === migrationUrl ? undefined : url;
  const ran = await migrate({ url: migrationUrl, appUrl, migrations, log });
  say(ran.length === 0 ? "Database up to date" : `Database migrated: ${ran.join(", ")}`);
  return { url };
}

/** Drains, stops the servers, says why if it was not wanted, and exits. */
async function end(
  running: Running,
  { exitCode, error }: StopReason,
  stop: StopRequest,
  started: Promise<unknown>,
): Promise<void> {
  const { say, log } = running;
  setTimeout(() => {
    running.servers?.abandon();
    if (isToldHere(error, stop)) complain(error);
    process.exit(1);
  }, SHUTDOWN_MS).unref();
  if (exitCode === 0 && stop.signal.aborted) say("Stopping");
  // Whatever else fails on the way out is a consequence; the reason is the last line.
  if (error instanceof StartError) log.level = "silent";
  // A start under way comes to its next stop by itself; its servers are not to vanish before that.
  await Promise.race([started, sleep(HALF_STARTED_MS, undefined, { ref: false })]);
  const grace = exitCode === 0 ? GRACE_MS : GRACE_AFTER_FAILURE_MS;
  try {
    // What does not keep to its time is left behind; the servers need the rest of it.
    await Promise.race([running.app?.stop(grace), sleep(grace + 500, undefined, { ref: false })]);
  } catch (failure) {
    log.error({ err: failure }, "stopping the application failed");
  }
  await running.servers?.stop();
  if (exitCode === 0 && stop.signal.aborted) say("Stopped");
  if (isToldHere(error, stop)) complain(error);
  process.exit(exitCode);
}

/** What nobody caught is in the log already. */
function isToldHere(error: unknown, stop: StopRequest): boolean {
  return error instanceof StartError || (error !== undefined && !stop.signal.aborted);
}

/** Development: lines for a person on standard output, and JSON on standard error from `warn` up. */
function openLog(config: Config): Log {
  if (!config.development) return createLog({ level: config.logLevel });
  const level = process.env["SERVICE_LOG_LEVEL"] === undefined ? "warn" : config.logLevel;
  return createLog({ level, destination: process.stderr });
}

/** One line for what a person can mend, everything for what they cannot. */
function complain(error: unknown): void {
  process.stderr.write(`atrium: ${reasonOf(error)}\n`);
}

function reasonOf(error: unknown): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  const { code, syscall, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (syscall === "listen" && code === "EADDRINUSE")
    return `Port ${port ?? ""} on ${address ?? "this machine"} is in use; stop what uses it, or set PORT.`;
  if (syscall === "listen")
    return `Cannot listen on ${address ?? ""}:${port ?? ""} (${code ?? "error"}); set SERVICE_HOST and PORT.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

main().catch((error: unknown) => {
  complain(error);
  process.exit(1);
});
