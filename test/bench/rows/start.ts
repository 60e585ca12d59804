import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { chmodSync, createWriteStream, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../support/postgres.ts";
import { residentMiB } from "../processes.ts";
import type { Environment } from "../environment.ts";
import type { FigureRow } from "./row.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const patienceMs = 120_000;

/** `npm start` with nothing there but the installed packages: makes a database cluster, migrates, starts Temporal. */
export const freshStart: FigureRow = {
  kind: "figure",
  name: "start-fresh",
  title: "npm start to the first 200 of /readyz, fresh data folder",
  unit: "s",
  target: 5,
  async measure(environment) {
    const folder = dataFolder(environment, "fresh");
    const started = await npmStart(folder);
    await started.stop();
    return started.seconds;
  },
};

/** The same on data of an earlier run. */
export const laterStart: FigureRow = {
  kind: "figure",
  name: "start-again",
  title: "the same, existing data folder",
  unit: "s",
  target: 5,
  async measure(environment) {
    const folder = dataFolder(environment, "again");
    await (await npmStart(folder)).stop();
    const started = await npmStart(folder);
    await started.stop();
    return started.seconds;
  },
};

/** Memory of our own process some seconds after the start; PostgreSQL and Temporal are not ours. */
export const idleMemory: FigureRow = {
  kind: "figure",
  name: "memory",
  title: "resident memory of our process, idle",
  unit: "MiB",
  target: 300,
  async measure(environment) {
    const started = await npmStart(dataFolder(environment, "memory"));
    try {
      await sleep(5_000);
      const pid = descendants(started.pid).find((child) => commandOf(child).includes("src/main.ts"));
      const found = pid === undefined ? undefined : residentMiB(pid);
      if (found === undefined) throw new Error("the memory of the service cannot be read here");
      return found;
    } finally {
      await started.stop();
    }
  },
};

function dataFolder(environment: Environment, name: string): string {
  const folder = environment.folder(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  return folder;
}

/** Runs `npm start` as a person would, and waits for it to be ready. */
async function npmStart(folder: string): Promise<{ seconds: number; pid: number; stop(): Promise<void> }> {
  const port = await freePort();
  const began = performance.now();
  const child = spawn("npm", ["start"], {
    cwd: root,
    env: { ...process.env, NODE_ENV: "development", PORT: String(port), SERVICE_DATA_DIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const logFile = `${folder}.log`;
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = (): void => killGroup(child);
  process.on("exit", kill);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const patience = setTimeout(kill, 20_000);
    await ended;
    clearTimeout(patience);
    process.off("exit", kill);
    log.end();
  };
  while (performance.now() - began < patienceMs && child.exitCode === null) {
    const status = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return { seconds: (performance.now() - began) / 1000, pid: child.pid as number, stop };
    await sleep(20);
  }
  await stop();
  throw new Error(`npm start did not get ready:\n${readFileSync(logFile, "utf8").slice(-2000)}`);
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** The process and its children's children (Linux). */
function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(join("/proc", name, "stat"), "latin1");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
