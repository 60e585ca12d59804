import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Where things run: the measured servers on one core; load, and the database, on the other. */
export const serverCore = 0;
export const loadCore = 1;
/** Both of them, for rows that let servers and load compete. */
export const bothCores = "0,1";
/** Where a process runs. */
export type Cores = number | typeof bothCores;

/** True where processes can be tied to cores and there are two of them. */
export const canPin = process.platform === "linux" && availableParallelism() > 1 && has("taskset");

/** True where a program is on the path. */
export function has(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** A command tied to its cores; as it is where that cannot be. */
export function pinned(cores: Cores, command: string, args: readonly string[]): [string, string[]] {
  return canPin ? ["taskset", ["-c", String(cores), command, ...args]] : [command, [...args]];
}

/** A script of the bench in a process of its own. */
export interface Helper<Ready> {
  pid: number;
  /** What it sent when it was ready. */
  ready: Ready;
  /** Sends a message and resolves to the `result` of the response. One at a time. */
  ask<T>(message: object): Promise<T>;
  stop(): Promise<void>;
}

const started = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of started) child.kill("SIGKILL");
});

/** Starts a script of this folder, which sends `{ready}` over IPC when it serves. */
export async function startHelper<Ready extends object>(
  cores: Cores,
  script: string,
  env: Record<string, string> = {},
): Promise<Helper<Ready>> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const [command, args] = pinned(cores, process.execPath, [path]);
  const child = spawn(command, args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...env },
  });
  started.add(child);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  void ended.then(() => started.delete(child));
  const hear = <T>(key: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const lost = (): void => reject(new Error(`${script} ended`));
      child.once("exit", lost);
      child.once("message", (message: Record<string, unknown>) => {
        child.off("exit", lost);
        if (key in message) resolve(message[key] as T);
        else reject(new Error(`${script}: ${String(message["error"])}`));
      });
    });
  const ready = await hear<Ready>("ready");
  return {
    pid: child.pid as number,
    ready,
    ask<T>(message: object) {
      const answer = hear<T>("result");
      child.send(message);
      return answer;
    },
    async stop() {
      const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
      if (child.connected) child.disconnect();
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Seconds of processor time a process has used, its threads included; undefined where that cannot be read. */
export function cpuSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return undefined;
  }
}

/** Seconds that both cores together have been busy; undefined where that cannot be read. */
function busySeconds(): number | undefined {
  try {
    const lines = readFileSync("/proc/stat", "latin1").matchAll(/^cpu[01] (\d+) (\d+) (\d+)/gm);
    return [...lines].reduce((sum, [, ...times]) => sum + times.reduce((all, time) => all + Number(time), 0), 0) / 100;
  } catch {
    return undefined;
  }
}

/** Cores are idle when they are busy for less than this share of the time. */
const IDLE_SHARE = 0.1;
/** Duration of one sample, milliseconds. */
const SAMPLE_MS = 500;
/** Samples after which the cores count as busy with something else. */
const MAX_SAMPLES = 40;

/**
 * Waits until both cores are idle, at most 20 s: what one side of a row left behind, such as requests whose clients are
 * gone or the vacuum of its rows, must not slow the other.
 */
export async function waitForIdleCores(log: (line: string) => void): Promise<void> {
  let before = busySeconds();
  for (let sample = 0; before !== undefined && sample < MAX_SAMPLES; sample++) {
    await sleep(SAMPLE_MS);
    const after = busySeconds();
    if (after === undefined || (after - before) * 1_000 < 2 * SAMPLE_MS * IDLE_SHARE) return;
    before = after;
  }
  if (before !== undefined) log("  the cores are still busy; measuring anyway");
}

/** Resident memory of a process in MiB; undefined where that cannot be read. */
export function residentMiB(pid: number): number | undefined {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"));
    return found === null ? undefined : Number(found[1]) / 1024;
  } catch {
    return undefined;
  }
}
