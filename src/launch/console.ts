import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the build of the console is made of; some folders may be missing. */
const SOURCES = ["src/console", "src/clients/typescript", "src/audit-proof", "gen"];
const ENDINGS = /\.(?:tsx?|css|html|svg|json)$/u;

/** Folder that has, or will have, the build of the console that belongs to the sources. */
export function consoleFolder(): string {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  for (const source of SOURCES) {
    const at = join(root, source);
    if (!existsSync(at)) continue;
    const files = readdirSync(at, { recursive: true, encoding: "utf8" }).filter((file) => ENDINGS.test(file));
    for (const file of files.sort()) hash.update(`${source}/${file}\0`).update(readFileSync(join(at, file)));
  }
  return join(root, "node_modules/.cache/atrium-console", hash.digest("hex").slice(0, 16));
}

/** Whether a folder has a complete build. */
export const isBuilt = (folder: string): boolean => existsSync(join(folder, "index.html"));

/**
 * Builds the console in a process of its own, at a low priority: the servers that start beside it come first. A build
 * that fails leaves the API as it is.
 */
export function buildBeside(say: (line: string) => void, signal: AbortSignal): void {
  const began = performance.now();
  say("Building the console (once after a change)");
  const child = spawn(process.execPath, [join(root, "src/launch/build-console.ts")], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    errors = (errors + part).slice(-4_000);
  });
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  child.once("error", (error) => say(`The console was not built: ${error.message}`));
  child.once("exit", (code) => {
    signal.removeEventListener("abort", stop);
    if (code === 0) say(`Built the console in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    else if (!signal.aborted) say(`The console was not built; npm run build:console shows why: ${errors.trim()}`);
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
}
