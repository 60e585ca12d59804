import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { NODE_COMPILE_CACHE } from "../support/program.ts";

const root = join(import.meta.dirname, "../..");

/** What a command of the program printed, and its exit code. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs the program with these arguments, variables and standard input, from a folder that is not the repository's. */
export async function runCommand(
  args: string[],
  env: Record<string, string> = {},
  input = "",
  cwd = "/",
): Promise<Ran> {
  const child = spawn(process.execPath, [join(root, "src/main.ts"), ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE, ...env },
    stdio: "pipe",
  });
  const ran: Ran = { code: -1, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (part: string) => (ran.out += part));
  child.stderr.setEncoding("utf8").on("data", (part: string) => (ran.err += part));
  child.stdin.on("error", () => undefined).end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { ...ran, code: code ?? -1 };
}
