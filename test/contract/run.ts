import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "node_modules", ".bin");

/** The path, with the folder into which Go's installer puts it. */
export const searchPath = [process.env["PATH"] ?? "", "/usr/local/go/bin"].join(delimiter);

/** Runs a program of `node_modules/.bin` (or of the path) in the repository; returns output and success. */
export function run(program: string, ...args: string[]): { ok: boolean; output: string } {
  const env = { ...process.env, PATH: `${bin}${delimiter}${searchPath}` };
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: root, env, encoding: "utf8" });
  return { ok: status === 0, output: `${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}` };
}

/** Runs a program and throws with its output when it fails. */
export function must(program: string, ...args: string[]): string {
  const { ok, output } = run(program, ...args);
  if (!ok) throw new Error(`${program} ${args.join(" ")} failed:\n${output}`);
  return output;
}
