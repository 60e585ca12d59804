import { setTimeout as sleep } from "node:timers/promises";
import type { App, Role } from "./app/app.ts";
import type { Terminal } from "./cli/output.ts";
import type { VaultCall } from "./cli/vault.ts";
import { systemClock } from "./platform/clock.ts";
import { ConfigError, readConfig } from "./platform/config.ts";
import type { Config } from "./platform/config.ts";
import { findSecret } from "./platform/config/secret-files.ts";
import { assertPortFree } from "./app/dev/ports.ts";
import { StartError } from "./platform/start-error.ts";
import { createLog } from "./platform/log.ts";
import type { Log } from "./platform/log.ts";
import { openOutput, STANDARD_ERROR, STANDARD_OUTPUT } from "./platform/log-output.ts";
import { systemRandom } from "./platform/random.ts";
import { STOP_SIGNALS } from "./platform/stop-signals.ts";
import type { FakePayments } from "./launch/fake-payments.ts";
import { version } from "./app/version.ts";
import { readArguments, UsageError } from "./launch/arguments.ts";
import { openConsole } from "./launch/console.ts";
import { loadSecrets, startServers } from "./launch/infrastructure.ts";
import type { Servers } from "./launch/infrastructure.ts";
import { mutualTlsLine } from "./launch/mutual-tls.ts";
import { printResetLink, printStatus, runRewrap } from "./launch/status.ts";
import { listenForStop } from "./launch/stop-request.ts";
import type { StopReason, StopRequest } from "./launch/stop-request.ts";

/** Time limit for requests and work in flight at a stop, milliseconds; shorter after a failure. */
const GRACE_MS = 10_000;
const GRACE_AFTER_FAILURE_MS = 2_000;
/** How long a stop waits for a start that it interrupts. */
const INTERRUPTED_START_MS = 3_000;
/** Time limit of the whole shutdown; then the process exits. */
const SHUTDOWN_MS = 14_000;
/** Migrations that the banner names; of more it gives the number. */
const NAMED_MIGRATIONS = 4;

/** What this process has started, and stops at its end. */
interface Running {
  readonly config: Config;
  readonly log: Log;
  readonly say: (line: string) => void;
  servers?: Servers;
  payments?: FakePayments["server"];
  app?: App;
}

async function main(): Promise<void> {
  // The reader of the output may go away (EPIPE): the program goes on, and its exit code says how it ended.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const command = readArguments(process.argv.slice(2));
  if ("print" in command) return void process.stdout.write(command.print);
  if ("verify" in command) {
    process.exitCode = await runVerifyAudit(command.verify);
    return;
  }
  if ("vault" in command) {
    process.exitCode = await runVault(command.vault);
    return;
  }
  if ("workloadAgent" in command) {
    const { runWorkloadAgent } = await import("./cli/workload-agent/index.ts");
    const stop = new AbortController();
    for (const name of STOP_SIGNALS) process.on(name, () => stop.abort());
    process.exitCode = await runWorkloadAgent(command.workloadAgent, terminal(), stop.signal);
    return;
  }
  const config = readConfig(process.env, { databaseOnly: "run" in command && command.run === "migrate" });
  const log = openLog(config);
  if ("resetPassword" in command) {
    await printResetLink(config, command.resetPassword, log, (text) => process.stdout.write(text));
    return;
  }
  const say = config.development
    ? (line: string) => openOutput(STANDARD_OUTPUT).write(`${line}\n`)
    : (line: string) => log.info(line);
  if (command.run === "status") {
    process.exitCode = await printStatus(config, log, (text) => process.stdout.write(text));
    return;
  }
  if (command.run === "rewrap") {
    process.exitCode = await runRewrap(config, log, (line) => void process.stdout.write(`${line}\n`));
    return;
  }
  const running: Running = { config, log, say };
  const stop = listenForStop({
    onError: (error) => log.fatal({ err: error }, "An error was not caught; the process stops"),
    exitNow() {
      running.servers?.abandon();
      process.exit(1);
    },
    // Only npm: another parent, such as a shell with nohup, may end before the service.
    parent: Number(process.env["ATRIUM_NPM_PID"]) || undefined,
  });
  const start =
    command.run === "migrate" ? migrateOnly(running, stop) : startAll(running, stop, command.run, command.fakePayments);
  const outcome = start.then(
    (done) => done ?? stop.reason,
    (error: unknown): StopReason => ({ exitCode: 1, error }),
  );
  const reason = await Promise.race([stop.reason, outcome]);
  await shutDown(
    running,
    command.run === "migrate" ? interrupted(reason) : reason,
    stop,
    start.catch(() => undefined),
  );
}

/** Verifies an export. */
async function runVerifyAudit(what: { file: string; jwks: string }): Promise<number> {
  const { verifyAudit } = await import("./app/verify-audit.ts");
  return verifyAudit({ ...what, ...terminal() });
}

/** Splits the master key, or calls the vault of a running service. */
async function runVault(what: VaultCall | { action: "split" }): Promise<number> {
  const { callVault, splitMasterKey } = await import("./cli/vault.ts");
  if (what.action === "split") return splitMasterKey(findSecret(process.env, "SERVICE_MASTER_KEY"), terminal());
  return callVault(what, terminal());
}

/** Relative paths start in the working directory, or in the folder where npm was called. */
function terminal(): Terminal {
  return {
    say: (line) => void process.stdout.write(`${line}\n`),
    complain: (line) => void process.stderr.write(`${line}\n`),
    input: process.stdin,
    folders: [process.cwd(), process.env["INIT_CWD"] ?? process.cwd()],
  };
}

/** Starts a process that serves requests, does background work, or both. */
async function startAll(
  running: Running,
  stop: StopRequest,
  role: Role,
  fakePayments: true | undefined,
): Promise<undefined> {
  const { log, say } = running;
  let ownUrl: string | undefined = undefined;
  const config = fakePayments === undefined ? running.config : await withFakePayments(running, () => ownUrl);
  const data = config.development ? `, data in ${config.dataDir}` : "";
  say(`Atrium ${version()} is starting: ${config.profile} profile${data}`);
  // Checked first, before the servers are started in vain.
  if (role !== "worker") {
    await assertPortFree(config.host, config.port, "PORT");
    if (config.mtlsPort !== undefined) await assertPortFree(config.host, config.mtlsPort, "SERVICE_MTLS_PORT");
  }
  const servers = openServers(running, stop, false);
  // Most of the program is loaded while the servers start, after their processes exist, so that it does not delay them.
  await servers.spawned;
  const composing = import("./app/program.ts");
  composing.catch(() => undefined);
  const consoleBuild = role === "worker" || !config.console.on ? undefined : openConsole(log, say, stop.signal);
  const secrets = loadSecrets(config);
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
    ...consoleBuild,
    log,
    clock: systemClock,
    random: systemRandom,
  });
  stop.signal.throwIfAborted();
  const { address, mutualTls, bootstrapped } = await running.app.start();
  ownUrl = address;
  if (mutualTls !== undefined) say(mutualTlsLine(config, mutualTls));
  say(address === undefined ? "The worker has started" : `Ready on ${config.baseUrlGiven ? config.baseUrl : address}`);
  if (bootstrapped && secrets.bootstrap !== undefined) {
    const { org, email, password } = secrets.bootstrap;
    // Logs are kept: production's have neither the password, which is the operator's own, nor the address.
    if (config.development) say(`First login (shown once): ${email} with password ${password} (organization ${org})`);
    else say(`Created the first organization, ${org}, and its owner; remove SERVICE_BOOTSTRAP_PASSWORD`);
  }
  return undefined;
}

/** Starts the payment server of development; returns the configuration that uses it. */
async function withFakePayments(running: Running, ownUrl: () => string | undefined): Promise<Config> {
  const { startFakePayments } = await import("./launch/fake-payments.ts");
  const { config, server } = await startFakePayments(running.config, ownUrl);
  running.payments = server;
  running.say(`Payments are simulated on ${server.url}: no real money is taken`);
  return config;
}

/** Makes a signal a failure: whoever waits for the migrations must not go on without them. */
function interrupted(reason: StopReason): StopReason {
  if (reason.interruptedCode === undefined) return reason;
  const error = new StartError("Interrupted before the migrations had finished; run it again.");
  return { exitCode: reason.interruptedCode, error };
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
  const ran = await migrate({ url: migrationUrl, appUrl, migrations, log, say });
  const named = ran.length <= NAMED_MIGRATIONS ? ran : [...ran.slice(0, NAMED_MIGRATIONS), `… (${ran.length} in all)`];
  say(ran.length === 0 ? "The database is up to date" : `Migrated the database: ${named.join(", ")}`);
  return { url };
}

/** Drains, stops the servers, prints the error if there is one, and exits. */
async function shutDown(
  running: Running,
  { exitCode, error }: StopReason,
  stop: StopRequest,
  started: Promise<unknown>,
): Promise<void> {
  const { say, log } = running;
  setTimeout(() => {
    running.servers?.abandon();
    if (isPrintedHere(error, stop)) printError(error);
    process.exit(1);
  }, SHUTDOWN_MS).unref();
  if (exitCode === 0 && stop.signal.aborted) say("Stopping");
  // Later failures are consequences; the last line printed is the reason.
  if (error instanceof StartError) log.level = "silent";
  // A start under way stops at its next check of the signal; its servers have to run until then.
  await Promise.race([started, sleep(INTERRUPTED_START_MS, undefined, { ref: false })]);
  const grace = exitCode === 0 ? GRACE_MS : GRACE_AFTER_FAILURE_MS;
  try {
    // Work that exceeds its time is abandoned: the servers need the remaining time to stop.
    await Promise.race([running.app?.stop(grace), sleep(grace + 500, undefined, { ref: false })]);
  } catch (failure) {
    log.error({ err: failure }, "The application could not be stopped in order");
  }
  await running.payments?.close();
  await running.servers?.stop();
  if (exitCode === 0 && stop.signal.aborted) say("Stopped");
  if (isPrintedHere(error, stop)) printError(error);
  process.exit(exitCode);
}

/** Whether to print the error here: an uncaught one is in the log already. */
function isPrintedHere(error: unknown, stop: StopRequest): boolean {
  return error instanceof StartError || (error !== undefined && !stop.signal.aborted);
}

/** In development, standard output has lines for a person; the log goes to standard error, from `warn` up. */
function openLog(config: Config): Log {
  if (!config.development) return createLog({ level: config.logLevel });
  const level = process.env["SERVICE_LOG_LEVEL"] === undefined ? "warn" : config.logLevel;
  return createLog({ level, destination: openOutput(STANDARD_ERROR) });
}

/** Prints one line for an error that the operator can fix, else the stack. */
function printError(error: unknown): void {
  openOutput(STANDARD_ERROR).write(`atrium: ${reasonOf(error)}\n`);
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
  printError(error);
  process.exit(error instanceof UsageError ? error.exitCode : 1);
});
