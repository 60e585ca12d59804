import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { endProcess, signalProcess } from "./processes.ts";

/** A running server program. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the program has ended, with a description: `exit code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>;
  /** How it ended; undefined while it runs. */
  ended(): string | undefined;
  /** Its last log lines that report errors, joined to one line; for error messages. */
  lastErrors(): string;
  /** Sends the signals of `stopSteps` until it has ended; resolves then. */
  stop(): Promise<void>;
  /** Sends the first signal without waiting: for a process that is about to exit itself. */
  abandon(): void;
}

/** How to run a server program. */
export interface ServerCommand {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Receives standard output and error; truncated at a start when it is over 8 MiB. */
  logFile: string;
  /** Run under this account (root only). */
  account?: { uid: number; gid: number } | undefined;
  /** Signals that stop it, in turn, each with the time it gets, milliseconds. */
  stopSteps: readonly (readonly [NodeJS.Signals, number])[];
}

const MAX_LOG_BYTES = 8 * 1024 * 1024;
/** Lines of a log that a message about a failed start repeats. */
const REPORTED_LINES = 3;

/**
 * Starts a server in its own process group, so that Ctrl-C in the terminal reaches only this process and the server
 * serves until requests are drained. Its output goes to a file and not to a pipe: it must survive when this process is
 * killed.
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
        lastErrors: () => lastErrors(options.logFile, before),
        async stop() {
          if (end === undefined) await endProcess(pid, options.stopSteps);
          await exited;
          // Its children, if any are left.
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
    // There is no log yet.
  }
  return openSync(path, "a", 0o600);
}

/** The last lines that report errors, after the first `before` bytes; the last lines when none does. */
function lastErrors(logFile: string, before: number): string {
  try {
    const all = readFileSync(logFile).subarray(before).toString("utf8").trimEnd().split("\n");
    const reports = all.slice(-20).filter((line) => /fatal|error|panic|hint|denied/i.test(line));
    return (reports.length > 0 ? reports : all).slice(-REPORTED_LINES).join(" / ");
  } catch {
    return "";
  }
}
