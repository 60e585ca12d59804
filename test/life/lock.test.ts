import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadOrCreatePassword, loadOrCreateSecret, openDataFolder } from "../../src/app/dev/data-folder.ts";
import { lockDataFolder, tryLock } from "../../src/app/dev/lock.ts";
import { startServers } from "../../src/launch/infrastructure.ts";
import { readConfig } from "../../src/platform/config.ts";
import { StartError } from "../../src/platform/start-error.ts";
import { runProgram, testFolder } from "../support/program.ts";

let folder: ReturnType<typeof testFolder>;
beforeEach(() => {
  folder = testFolder();
});
afterEach(() => folder.remove());

test("a data folder is locked by one process at a time", () => {
  const lock = lockDataFolder(folder.path);
  expect(() => lockDataFolder(folder.path)).toThrow(
    `The data folder ${folder.path} is in use by another Atrium (process ${process.pid})`,
  );
  lock.release();
  lockDataFolder(folder.path).release();
});

test("another process cannot take the lock, and a killed one leaves no lock behind", async () => {
  const first = runProgram("test/life/hold-lock.ts", [folder.path]);
  await first.until(/held/);
  expect(tryLock(folder.path)).toBeNull();
  const second = runProgram("test/life/hold-lock.ts", [folder.path]);
  expect(await second.exit).toBe(1);
  expect(second.output()).toContain(`in use by another Atrium (process ${first.pid})`);
  process.kill(first.pid, "SIGKILL");
  await first.exit;
  lockDataFolder(folder.path).release();
});

test("a data folder in use is refused with an embedded server, and not looked at when both are external", async () => {
  const lock = lockDataFolder(folder.path);
  const signal = AbortSignal.abort();
  const context = { env: {}, say: () => undefined, onFatal: () => undefined, signal, databaseOnly: false };
  const start = (env: Record<string, string>) =>
    startServers(readConfig({ SERVICE_DATA_DIR: folder.path, ...env }), context);
  const [database, temporal] = [{ DATABASE_URL: "postgres://db.test/a" }, { TEMPORAL_ADDRESS: "temporal.test:7233" }];
  for (const one of [{}, database, temporal]) expect(() => start(one)).toThrow(/in use by another Atrium/);
  await start({ ...database, ...temporal }).stop();
  expect(tryLock(folder.path)).toBeNull();
  lock.release();
});

test("a reused process id of a dead holder does not lock the folder", () => {
  // Process 1 always runs.
  writeFileSync(join(folder.path, "lock.pid"), "1\n");
  lockDataFolder(folder.path).release();
});

test("a data folder that cannot be created is an error of one line", () => {
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  expect(() => openDataFolder(join(file, "data"))).toThrow(StartError);
  expect(() => openDataFolder("/proc/atrium/data")).toThrow(
    /^The data folder \/proc\/atrium\/data cannot be written \(\w+\)/,
  );
});

test("a secret is generated once and readable by its owner only", () => {
  const secret = loadOrCreateSecret(folder.path, "instance-key", 32);
  expect(secret).toHaveLength(32);
  expect(loadOrCreateSecret(folder.path, "instance-key", 32)).toEqual(secret);
  expect(readFileSync(join(folder.path, "secrets", "instance-key"), "utf8")).toBe(`${secret.toString("base64")}\n`);
  expect(statSync(join(folder.path, "secrets", "instance-key")).mode & 0o777).toBe(0o600);
  const made = loadOrCreatePassword(folder.path, "bootstrap-password");
  expect(made.isNew).toBe(true);
  expect(loadOrCreatePassword(folder.path, "bootstrap-password")).toEqual({ password: made.password, isNew: false });
});

test("a secret in the alphabet for URLs is read", () => {
  const secret = Buffer.alloc(32, 0xff);
  mkdirSync(join(folder.path, "secrets"));
  writeFileSync(join(folder.path, "secrets", "instance-key"), `${secret.toString("base64url")}\n`);
  expect(loadOrCreateSecret(folder.path, "instance-key", 32)).toEqual(secret);
});

test("a damaged secret is not replaced", () => {
  mkdirSync(join(folder.path, "secrets"));
  writeFileSync(join(folder.path, "secrets", "instance-key"), "short");
  expect(() => loadOrCreateSecret(folder.path, "instance-key", 32)).toThrow(/is damaged/);
  expect(readFileSync(join(folder.path, "secrets", "instance-key"), "utf8")).toBe("short");
});
