import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root, searchPath } from "../run.ts";

/** What generates and tests the Python client, with exact versions. */
const REQUIREMENTS = "test/clients/python/requirements.txt";

/** A language's tools, or why they cannot be used here. */
export type Tools<T> = { found: T; missing?: undefined } | { found?: undefined; missing: string };

/** The environment in which Go is on the path. */
export const goEnvironment: NodeJS.ProcessEnv = { ...process.env, PATH: searchPath };

/**
 * The folder with `python` and the plugins: `bin` of `CLIENT_PYTHON`, a virtual environment, by default the one that
 * `.ci/run` makes in the user's cache.
 */
export function pythonTools(): Tools<string> {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(process.env["CLIENT_PYTHON"] ?? join(cache, "atrium/python-client"), "bin");
  const python = join(folder, "python");
  if (!existsSync(python)) return { missing: `${python} does not exist; .ci/run makes it` };
  const pins = readFileSync(join(root, REQUIREMENTS), "utf8").trim().split("\n");
  const check =
    "import sys, importlib.metadata as m\nfor pin in sys.argv[1:]:\n" +
    "  name, version = pin.split('==')\n  if m.version(name.split('[')[0]) != version: sys.exit(pin)";
  const { status, stderr } = spawnSync(python, ["-c", check, ...pins], { encoding: "utf8" });
  return status === 0
    ? { found: folder }
    : { missing: `${python} lacks ${stderr.trim().split("\n").at(-1) ?? ""} of ${REQUIREMENTS}` };
}

/** Whether Go runs, and has or gets the modules of `go.mod`. */
export function goTools(): Tools<string> {
  const { status, stderr, error } = spawnSync("go", ["tool", "-n", "protoc-gen-connect-go"], {
    cwd: root,
    env: goEnvironment,
    encoding: "utf8",
  });
  if (error !== undefined) return { missing: "Go is not installed" };
  return status === 0 ? { found: "go" } : { missing: stderr.trim().slice(0, 300) };
}

/** `CLIENTS=all` demands the tools of every language: continuous integration sets it. */
export const clientsDemanded = process.env["CLIENTS"] === "all";

/** @throws Error where the tools of every language are demanded */
export function reportMissing(what: string, why: string): void {
  if (clientsDemanded) throw new Error(`CLIENTS=all demands ${what}: ${why}`);
  console.log(`${what} is left as it is: ${why}`);
}
