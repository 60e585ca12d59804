import { existsSync, readdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { postgresPid, processesOn, runProgram, testFolder } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

let folder: ReturnType<typeof testFolder>;
const runs: ProgramRun[] = [];
beforeEach(() => {
  folder = testFolder();
});
afterEach(async () => {
  for (const run of runs.splice(0)) {
    try {
      process.kill(run.pid, "SIGKILL");
    } catch {
      // Ended already.
    }
    await run.exit;
  }
  folder.remove();
});

function start(env: Record<string, string> = {}, script = "src/main.ts", args: string[] = []): ProgramRun {
  const run = runProgram(script, args, { SERVICE_DATA_DIR: folder.path, PORT: "0", ...env });
  runs.push(run);
  return run;
}

/** The address it tells of once it is ready. */
async function ready(run: ProgramRun): Promise<string> {
  return (await run.until(/Ready on (\S+)/))[1] ?? "";
}

async function readiness(url: string): Promise<{ status: string; database: string; temporal: string }> {
  return (await (await fetch(`${url}/readyz`)).json()) as { status: string; database: string; temporal: string };
}

async function login(url: string, password: string): Promise<number> {
  const body = JSON.stringify({ email: "owner@acme.test", password, org_name: "Acme" });
  const answer = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  return answer.status;
}

async function stop(run: ProgramRun, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  process.kill(run.pid, signal);
  expect(await run.exit).toBe(0);
  expect(processesOn(folder.path)).toEqual([]);
}

test("the launcher starts a service that responds, refuses a second start and leaves no process behind", async () => {
  const first = start({}, "src/launch/run.sh", ["start"]);
  const url = await ready(first);
  // On a busy machine a check may not have its response in time.
  await expect.poll(() => readiness(url)).toMatchObject({ status: "ok", database: "ok", temporal: "ok" });
  const [, password = ""] = await first.until(/First login \(shown once\): owner@acme\.test with password (\S+)/);
  expect(await login(url, password)).toBe(200);

  const second = start();
  expect(await second.exit).toBe(1);
  expect(second.output()).toContain(`is in use by another Atrium (process ${first.pid})`);
  await stop(first);

  const again = start();
  expect(await login(await ready(again), password)).toBe(200);
  expect(again.output()).not.toContain("First login");
  await stop(again, "SIGINT");
});

test.each(["the program", "everything"])("the next start recovers after kill -9 of %s", async (victim) => {
  const first = start();
  await ready(first);
  const [, password = ""] = await first.until(/with password (\S+)/);
  const orphan = postgresPid(folder.path);
  process.kill(first.pid, "SIGKILL");
  await first.exit;
  const orphans = processesOn(folder.path).map(({ pid }) => pid);
  expect(orphans).toContain(orphan);
  if (victim === "everything")
    for (const pid of orphans) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // A process of PostgreSQL ended with its parent.
      }
    }
  const second = start();
  const url = await ready(second);
  expect(await login(url, password)).toBe(200);
  expect(processesOn(folder.path).map(({ pid }) => pid)).not.toContain(orphan);
  await stop(second);
});

test("a killed PostgreSQL is restarted, and the service recovers", async () => {
  const run = start();
  const url = await ready(run);
  process.kill(postgresPid(folder.path), "SIGKILL");
  await run.until(/PostgreSQL ended \(signal SIGKILL\); restarting it/);
  await expect.poll(async () => (await readiness(url)).status).toBe("ok");
  await stop(run);
});

test("a PostgreSQL that cannot be restarted ends the program, and the last line says why without a stack", async () => {
  const run = start();
  await ready(run);
  renameSync(join(folder.path, "postgres/global"), join(folder.path, "postgres/gone"));
  process.kill(postgresPid(folder.path), "SIGKILL");
  expect(await run.exit).toBe(1);
  expect(run.output().trimEnd().split("\n").at(-1)).toMatch(
    /^atrium: PostgreSQL failed 3 times in a row: PostgreSQL did not start \(.*global/,
  );
  expect(run.output()).not.toContain('"stack"');
  expect(run.output()).not.toMatch(/^ {4}at /m);
  expect(processesOn(folder.path)).toEqual([]);
});

test("a port in use is an error of one line, before any server is started", async () => {
  const holder = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => holder.once("listening", resolve));
  const { port } = holder.address() as AddressInfo;
  const run = start({ PORT: String(port) });
  expect(await run.exit).toBe(1);
  expect(run.output()).toContain(`atrium: Port ${port} on 127.0.0.1 is in use`);
  expect(processesOn(folder.path)).toEqual([]);
  await new Promise((resolve) => holder.close(resolve));
});

test.each([
  [
    "a folder that cannot be made",
    { SERVICE_DATA_DIR: "/proc/atrium" },
    [],
    /^atrium: The data folder \/proc\/atrium cannot be written \(\w+\)/m,
  ],
  [
    "settings that are wrong, all at once",
    { SERVICE_NIX: "1", PORT: "x" },
    [],
    /PORT[^]*SERVICE_NIX|SERVICE_NIX[^]*PORT/,
  ],
  [
    "a certificate that is none",
    {
      SERVICE_TLS_CERT: "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----",
      SERVICE_TLS_KEY: "-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----",
    },
    [],
    /SERVICE_TLS_CERT and SERVICE_TLS_KEY are not a certificate and its private key/,
  ],
  [
    "an unknown role",
    {},
    ["nix"],
    /^atrium: Unknown role nix; the roles are all, serve, worker, migrate, status, .*; see --help\.$/m,
  ],
])("refuses %s", async (_what, env, args, message) => {
  const run = start(env, "src/main.ts", args);
  expect(await run.exit).toBe(1);
  expect(run.output()).toMatch(message);
  expect(run.output()).not.toMatch(/^ {4}at /m);
});

test.each([
  ["SIGTERM", /development profile/],
  ["SIGQUIT", /PostgreSQL is running on/],
  ["SIGHUP", /Migrated the database/],
] as const)("%s during the start, at %s, stops the program cleanly", async (signal, moment) => {
  const run = start();
  await run.until(moment);
  await stop(run, signal);
  expect(run.output()).not.toMatch(/"level":/);
});

test("a signal while the cluster is created ends that, and stops the program cleanly", async () => {
  const run = start();
  await expect.poll(() => existsSync(join(folder.path, "postgres.new")), { interval: 5 }).toBe(true);
  await stop(run, "SIGINT");
  expect(readdirSync(folder.path).filter((name) => /^postgres(?:\.new|\..*pw)?$/u.test(name))).toEqual([]);
});

test("a signal while Temporal has begun and does not respond yet ends the start, and leaves no process", async () => {
  const run = start();
  const find = () => processesOn(folder.path).find(({ args }) => basename(args[0] ?? "") === "temporal");
  let server: ReturnType<typeof find>;
  await expect.poll(() => (server = find()), { interval: 1 }).toBeDefined();
  if (server !== undefined) process.kill(server.pid, "SIGSTOP");
  await stop(run);
  expect(run.output()).toContain("Stopped");
});

test("a repeated signal within a second changes nothing, and a later one exits at once", async () => {
  const run = start();
  await ready(run);
  process.kill(run.pid, "SIGINT");
  await sleep(50);
  await stop(run);

  const held = start();
  await ready(held);
  process.kill(postgresPid(folder.path), "SIGSTOP");
  process.kill(held.pid, "SIGTERM");
  await held.until(/Stopping/);
  await sleep(1200);
  process.kill(held.pid, "SIGTERM");
  expect(await held.exit).toBe(1);
  // A shutdown that goes on stops the servers, and exits 0.
  expect(held.output()).not.toContain("Stopped");
});

test("reset-password prints a link that sets a new password once, and refuses an unknown address", async () => {
  const run = start();
  const url = await ready(run);
  const rescue = start({ SERVICE_BASE_URL: url }, "src/main.ts", ["reset-password", "owner@acme.test"]);
  expect(await rescue.exit).toBe(0);
  const [, page = "", token = ""] = /^(\S+\/reset-password)#token=(\S+)$/m.exec(rescue.output()) ?? [];
  expect(page).toBe(`${url}/reset-password`);
  // The console may still be building.
  expect([200, 503]).toContain((await fetch(page)).status);
  const reset = async () => {
    const body = JSON.stringify({ token, password: "a new one for the owner" });
    return (
      await fetch(`${url}/api/auth/password/reset`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      })
    ).status;
  };
  expect(await reset()).toBe(204);
  expect(await login(url, "a new one for the owner")).toBe(200);
  expect(await reset()).toBe(400);
  const nobody = start({}, "src/main.ts", ["reset-password", "nobody@acme.test"]);
  expect(await nobody.exit).toBe(1);
  expect(nobody.output()).toBe("atrium: No account has the address nobody@acme.test; check its spelling.\n");
  await stop(run);
  const away = start({}, "src/main.ts", ["reset-password", "owner@acme.test"]);
  expect(await away.exit).toBe(1);
  expect(away.output()).toMatch(/^atrium: The database cannot be reached; start the service first\.$/m);
});

test("migrate, --help and --version print their result and exit", async () => {
  const migrated = start({}, "src/main.ts", ["migrate"]);
  expect(await migrated.exit).toBe(0);
  expect(migrated.output()).toMatch(/Migrated the database: 0001/);
  expect(processesOn(folder.path)).toEqual([]);
  const help = start({}, "src/main.ts", ["--help"]);
  expect(await help.exit).toBe(0);
  expect(help.output()).toContain("Usage: npm start");
  const version = start({}, "src/main.ts", ["--version"]);
  expect(await version.exit).toBe(0);
  expect(version.output()).toMatch(/^\d+\.\d+\.\d+\n$/);
});
