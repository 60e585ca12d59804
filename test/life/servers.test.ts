import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startPostgres } from "../../src/app/dev/postgres.ts";
import type { EmbeddedPostgres } from "../../src/app/dev/postgres.ts";
import { findTemporalProgram } from "../../src/app/dev/temporal-program.ts";
import { startTemporal } from "../../src/app/dev/temporal.ts";
import { createTemporalClient } from "../../src/platform/temporal/client.ts";
import { postgresPid, processesOn, runProgram, testFolder } from "../support/program.ts";

let folder: ReturnType<typeof testFolder>;
beforeEach(() => {
  folder = testFolder();
});
afterEach(() => folder.remove());

const quick = { log: () => {}, settings: { fsync: "off" } };
const unexpected = (error: Error): never => {
  throw error;
};

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>({ text: sql })).rows;
  } finally {
    await client.end();
  }
}

/** As `ask`, over and over until the server is back. */
async function askPatiently(url: string, sql: string): Promise<unknown[]> {
  let rows: unknown[] = [];
  await expect
    .poll(
      async () =>
        ask(url, sql).then(
          (found) => {
            rows = found;
            return true;
          },
          () => false,
        ),
      { interval: 50 },
    )
    .toBe(true);
  return rows;
}

async function start(): Promise<EmbeddedPostgres> {
  return startPostgres({ folder: folder.path, ...quick, onFatal: unexpected });
}

test("PostgreSQL keeps its data and port across a restart, and leaves no process behind", async () => {
  const first = await start();
  await ask(first.url, "create table kept as select 7 as n");
  expect(
    await ask(
      first.url,
      "select current_setting('listen_addresses') as host, current_setting('unix_socket_directories') as socket",
    ),
  ).toEqual([{ host: "127.0.0.1", socket: "" }]);
  await first.stop();
  expect(processesOn(folder.path)).toEqual([]);
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(await ask(second.url, "select n from kept")).toEqual([{ n: 7 }]);
  await second.stop();
});

test("PostgreSQL runs with fsync outside tests", async () => {
  const server = await startPostgres({ folder: folder.path, log: () => {}, onFatal: unexpected });
  expect(
    await ask(server.url, "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as wait"),
  ).toEqual([{ fsync: "on", wait: "on" }]);
  await server.stop();
});

test("a killed PostgreSQL is restarted on the same port", async () => {
  const server = await start();
  const pid = postgresPid(folder.path);
  process.kill(pid, "SIGKILL");
  await askPatiently(server.url, "select 1");
  expect(postgresPid(folder.path)).not.toBe(pid);
  await server.stop();
});

test("a PostgreSQL left running by a crash is stopped and replaced", async () => {
  const lost = runProgram("test/life/run-postgres.ts", [folder.path]);
  await lost.until(/up/);
  const orphan = postgresPid(folder.path);
  process.kill(lost.pid, "SIGKILL");
  await lost.exit;
  expect(processesOn(folder.path).map(({ pid }) => pid)).toContain(orphan);
  const server = await start();
  expect(postgresPid(folder.path)).not.toBe(orphan);
  expect(processesOn(folder.path).map(({ pid }) => pid)).not.toContain(orphan);
  await server.stop();
});

test("PostgreSQL starts despite a stale pid file that names another program's process", async () => {
  const first = await start();
  const pidFile = join(folder.path, "postgres", "postmaster.pid");
  const stale = readFileSync(pidFile, "utf8");
  await first.stop();
  writeFileSync(pidFile, stale.replace(/^\d+/, String(process.pid)));
  const second = await start();
  expect(await ask(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await second.stop();
});

test("an incomplete cluster of an interrupted first start is created again", async () => {
  mkdirSync(join(folder.path, "postgres.new"));
  writeFileSync(join(folder.path, "postgres.new", "PG_VERSION"), "18\n");
  await (await start()).stop();
});

test("PostgreSQL runs below a folder that is closed to others", async () => {
  chmodSync(folder.path, 0o700);
  const server = await start();
  expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
});

async function temporalOptions() {
  const program = await findTemporalProgram({
    path: process.env["PATH"],
    cacheHome: process.env["XDG_CACHE_HOME"],
    log: () => {},
  });
  return { folder: folder.path, program, log: () => {}, onFatal: unexpected };
}

test("only the user who runs the service may read what the workflows of Temporal store", async () => {
  const options = await temporalOptions();
  const modes = (): [string, number][] =>
    readdirSync(folder.path)
      .filter((name) => name.startsWith("temporal.") && name !== "temporal.port")
      .map((name) => [name, statSync(join(folder.path, name)).mode & 0o777]);
  const closed = expect.arrayContaining([
    ["temporal.db", 0o600],
    ["temporal.log", 0o600],
  ]) as unknown;
  const umask = process.umask(0o022);
  try {
    await (await startTemporal(options)).stop();
    expect(modes()).toEqual(closed);
    expect(modes().filter(([, mode]) => mode !== 0o600)).toEqual([]);
    chmodSync(join(folder.path, "temporal.db"), 0o644);
    await (await startTemporal(options)).stop();
    expect(modes()).toEqual(closed);
  } finally {
    process.umask(umask);
  }
});

test("Temporal keeps its workflows across a kill and a restart", async () => {
  const options = await temporalOptions();
  const first = await startTemporal(options);
  const client = createTemporalClient(first);
  const workflow = { workflowType: "none", workflowId: "install/1", taskQueue: "nobody", args: [] };
  expect(await client.startWorkflow(workflow)).toBe("started");
  expect(await client.startWorkflow(workflow)).toBe("runs");

  process.kill(first.pid() ?? 0, "SIGKILL");
  await expect.poll(async () => (await client.health()).state).not.toBe("ok");
  await expect.poll(async () => (await client.health()).state).toBe("ok");
  expect(await client.startWorkflow(workflow)).toBe("runs");

  await first.stop();
  expect(processesOn(folder.path)).toEqual([]);
  expect(await client.health()).toMatchObject({
    state: "not reachable",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
  await expect(client.startWorkflow({ ...workflow, workflowId: "install/3" })).rejects.toMatchObject({
    name: "TemporalFailure",
    retryable: true,
  });

  const second = await startTemporal(options);
  expect(second.address).toBe(first.address);
  await expect.poll(async () => (await client.health()).state).toBe("ok");
  expect(await client.startWorkflow(workflow)).toBe("runs");
  await client.close();
  await second.stop();
});
