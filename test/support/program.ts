import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listProcesses } from "../../src/app/dev/processes.ts";
import { scratch } from "./scratch.ts";

/** A run of a script of the repository as a process of its own. */
export interface ProgramRun {
  readonly pid: number;
  /** Output so far, both streams. */
  output(): string;
  /** Resolves to the exit code; a signal counts as -1. */
  readonly exit: Promise<number>;
  /** Resolves when the output matches; rejects when the process ends before that. */
  until(pattern: RegExp): Promise<RegExpMatchArray>;
}

const root = join(import.meta.dirname, "../..");
/** Compile cache of `npm start`: with it a start takes a fifth less processor time. */
export const NODE_COMPILE_CACHE = join(root, "node_modules/.cache/compiled");

/**
 * Starts `node <script> <args>`, or `sh` for a shell script, with nothing but these variables and what finding programs
 * takes; under another account where one is given (root only).
 */
export function runProgram(
  script: string,
  args: string[] = [],
  env: Record<string, string> = {},
  uid?: number,
): ProgramRun {
  const child = spawn(script.endsWith(".sh") ? "sh" : process.execPath, [join(root, script), ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", HOME: homedir(), NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  let ended = false;
  const exit = new Promise<number>((resolve) => {
    child.once("close", (code) => {
      ended = true;
      resolve(code ?? -1);
    });
  });
  return {
    pid: child.pid ?? 0,
    output: () => text,
    exit,
    async until(pattern) {
      for (;;) {
        const match = pattern.exec(text);
        if (match !== null) return match;
        if (ended) throw new Error(`the program ended before it said ${String(pattern)}:\n${text}`);
        await sleep(20);
      }
    },
  };
}

/** A data folder for a test, removed by `remove` together with whatever still runs on it. */
export function testFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(scratch(), "atrium-life-"));
  return {
    path,
    remove() {
      for (const { pid } of processesOn(path)) process.kill(pid, "SIGKILL");
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The processes that run on a data folder: embedded servers with all their children. */
export function processesOn(folder: string): { pid: number; args: string[] }[] {
  return listProcesses().filter(
    ({ pid, args, cwd }) =>
      pid !== process.pid && (cwd?.startsWith(folder) === true || args.some((arg) => arg.startsWith(folder))),
  );
}

/** The pid of the PostgreSQL server of a data folder. */
export function postgresPid(folder: string): number {
  return Number(readFileSync(join(folder, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
}
