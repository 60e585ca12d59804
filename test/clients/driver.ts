import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { clientsDemanded, goEnvironment, goTools, pythonTools } from "../contract/clients/tools.ts";
import { root } from "../contract/run.ts";

/** What a driver reports of a failure. */
export interface Failure {
  kind: "call" | "token" | "webhook" | "other";
  error_code?: string;
  status?: number;
  message?: string;
  request_id?: string;
  /** Seconds. */
  retry_after?: number;
  violations?: string[];
}

/** A failure of an operation. */
export class DriverError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(JSON.stringify(failure));
    this.failure = failure;
  }
}

/** A program in another language that executes operations with its client. */
export interface Driver {
  /** @throws DriverError when the operation fails */
  // Tests read results of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  run(op: string, args: object): Promise<any>;
  /** The failure of an operation. @throws Error when it succeeds */
  fail(op: string, args: object): Promise<Failure>;
  stop(): Promise<void>;
}

/** A client in another language. */
export interface Language {
  name: string;
  /** Why it cannot be tested here. */
  missing: string | undefined;
  /** @param env settings of the program besides those of this one */
  start(env?: NodeJS.ProcessEnv): Promise<Driver>;
}

const execute = promisify(execFile);

/** Runs a program to its end. The service of a test, which runs in this process, goes on meanwhile. */
async function must(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  await execute(program, args, { cwd: root, env });
}

/** Starts a program that reads operations from its input. */
function drive(program: string, args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Driver {
  const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const waiting = new Map<number, (answer: { result?: unknown; error?: Failure }) => void>();
  createInterface(child.stdout).on("line", (line) => {
    const { id, ...answer } = JSON.parse(line) as { id: number; result?: unknown; error?: Failure };
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  void ended.then((code) => {
    for (const settle of waiting.values()) settle({ error: { kind: "other", message: `the driver ended: ${code}` } });
  });
  let last = 0;
  const ask = (op: string, args: object): Promise<{ result?: unknown; error?: Failure }> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      child.stdin.write(`${JSON.stringify({ id: last, op, args })}\n`);
    });
  return {
    async run(op, args) {
      const { result, error } = await ask(op, args);
      if (error !== undefined) throw new DriverError(error);
      return result;
    },
    async fail(op, args) {
      const { result, error } = await ask(op, args);
      if (error === undefined) throw new Error(`${op} succeeded: ${JSON.stringify(result)}`);
      return error;
    },
    async stop() {
      child.stdin.end();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Installs the Python client into an empty folder, beside the packages that it depends on. */
export async function installPython(): Promise<{ python: string; folder: string; env: NodeJS.ProcessEnv }> {
  const bin = pythonTools().found ?? "";
  const python = join(bin, "python");
  const folder = mkdtempSync(join(tmpdir(), "atrium-python-"));
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"];
  const source = join(root, "src/clients/python");
  await must(python, ["-m", "pip", "install", ...quiet, "--target", folder, source], process.env);
  return { python, folder, env: { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" } };
}

async function startPython(mode: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Driver> {
  const { python, folder, env } = await installPython();
  return drive(python, [join(root, "test/clients/python/driver.py"), ...mode], { ...env, ...more }, folder);
}

async function startGo(more: NodeJS.ProcessEnv = {}): Promise<Driver> {
  const folder = mkdtempSync(join(tmpdir(), "atrium-go-"));
  const program = join(folder, "driver");
  await must("go", ["build", "-o", program, "./test/clients/go"], goEnvironment);
  return drive(program, [], { ...process.env, ...more }, folder);
}

/** The clients in other languages than TypeScript; says which of them are not tested. */
export function languages(): Language[] {
  const missing = { python: pythonTools().missing, go: goTools().missing };
  for (const [language, why] of Object.entries(missing))
    if (why !== undefined) console.log(`The client in ${language} is not tested: ${why}`);
  if (clientsDemanded && Object.values(missing).some((why) => why !== undefined))
    throw new Error("CLIENTS=all demands the clients of all languages");
  return [
    { name: "Python", missing: missing.python, start: (env) => startPython([], env) },
    { name: "Python, asyncio", missing: missing.python, start: (env) => startPython(["async"], env) },
    { name: "Go", missing: missing.go, start: startGo },
  ];
}
