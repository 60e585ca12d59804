import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { endProcess, signalProcess } from "./processes.ts";

/** A started server program. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the program has ended, with how it ended in words. */
  readonly exited: Promise<string>;
  /** Undefined while it runs, else how it ended. */
  ended(): string | undefined;
  /** The last lines it has logged that tell of trouble, on one line; for error messages. */
  lastWords(): string;
  /** Ends it in good order, patiently at first; resolves when it is gone. */
  stop(): Promise<void>;
  /** Asks it to end and does not wait: for a process that is about to exit itself. */
  abandon(): void;
}

/** How to run a server program. */
export interface ServerCommand {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Gets standard output and error; begun anew once it is over 8 MiB. */
  logFile: string;
  /** Run under this account (root only). */
  account?: { uid: number; gid: number } | undefined;
  /** Signals that end it, in turn, each with its patience in milliseconds. */
  stopSteps: readonly (readonly [NodeJS.Signals, number])[];
}

const MAX_LOG_BYTES = 8 * 1024 * 1024;

/**
 * Starts a server in a process group of its own, so that Ctrl-C in the terminal reaches only us
 * and the server can serve until we have drained. Its output goes to a file, not to a pipe of ours:
 * it must not stumble when we are killed.
 */
export function startServer(options: ServerCommand): Promise<ServerProcess> {
  const log = openLog(options.logFile);
  const before = fstatSync(log).size;
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["ignore", log, log],
    ...options.account,
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => {
      const pid = child.pid as number;
      let end: string | undefined;
      const exited = new Promise<string>((done) => {
        child.once("exit", (code, signal) => {
          end = signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
          done(end);
        });
      });
      const [first] = options.stopSteps;
      resolve({
        pid,
        exited,
        ended: () => end,
        lastWords: () => lastWords(options.logFile, before),
        async stop() {
          if (end === undefined) await endProcess(pid, options.stopSteps);
          await exited;
          // What it may have left of its group.
          signalProcess(-pid, "SIGKILL");
        },
        abandon() {
          if (end === undefined && first !== undefined) signalProcess(pid, first[0]);
        },
      });
    });
  });
}

function openLog(path: string): number {
  try {
    if (statSync(path).size > MAX_LOG_BYTES) truncateSync(path, 0);
  } catch {
    // There is none yet.
  }
  return openSync(path, "a", 0o600);
}

/** The last telling lines of a log file after what it held before. */
function lastWords(logFile: string, before: number, lines = 3): string {
  try {
    const all = readFileSync(logFile).subarray(before).toString("utf8").trimEnd().split("\n");
    const telling = all.slice(-20).filter((line) => /fatal|error|panic|hint|denied/i.test(line));
    return (telling.length > 0 ? telling : all).slice(-lines).join(" / ");
  } catch {
    return "";
  }
}
