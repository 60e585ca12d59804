import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A process of this machine that this process may inspect. */
export interface ProcessInfo {
  pid: number;
  /** Arguments, the program first; split at blanks on systems without /proc. */
  args: string[];
  /** Working directory on Linux, else null. */
  cwd: string | null;
}

const isLinux = process.platform === "linux";

/** The running processes, without zombies and without those that end during the call. */
export function listProcesses(): ProcessInfo[] {
  if (!isLinux) return listWithPs();
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      // A zombie has an empty command line.
      const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
      return args.length === 0 ? [] : [{ pid, args, cwd: linkTarget(`/proc/${pid}/cwd`) }];
    } catch {
      return [];
    }
  });
}

function listWithPs(): ProcessInfo[] {
  const out = spawnSync("ps", ["-axww", "-o", "pid=,stat=,command="], { encoding: "utf8" }).stdout ?? "";
  return out.split("\n").flatMap((line) => {
    const [pid, stat, ...args] = line.trim().split(/\s+/);
    if (pid === undefined || stat === undefined || stat.startsWith("Z") || args.length === 0) return [];
    return [{ pid: Number(pid), args, cwd: null }];
  });
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** True while the process runs; false for a zombie. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  if (!isLinux) return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Sends a signal, and ignores that the process has ended. A negative pid means its group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}

/** Ends a process: sends each signal in turn and waits for its time, milliseconds. */
export async function endProcess(pid: number, steps: readonly (readonly [NodeJS.Signals, number])[]): Promise<void> {
  for (const [signal, waitMs] of steps) {
    signalProcess(pid, signal);
    const until = Date.now() + waitMs;
    while (isRunning(pid)) {
      if (Date.now() >= until) break;
      await sleep(20);
    }
    if (!isRunning(pid)) return;
  }
}
