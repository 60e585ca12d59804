import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants as modes, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Infrastructure } from "../app/app.ts";
import type { Log } from "../platform/log.ts";

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

/** The console as the program needs it. A console that is missing is built beside the start, where it can be. */
export function openConsole(
  log: Log,
  say: (line: string) => void,
  signal: AbortSignal,
): Pick<Infrastructure, "consoleFolder" | "isConsoleBuilding"> {
  const folder = consoleFolder();
  if (isBuilt(folder)) return { consoleFolder: folder };
  const obstacle = buildObstacle(folder);
  if (obstacle === undefined) return { consoleFolder: folder, isConsoleBuilding: buildBeside(say, signal) };
  log.warn(
    `The console is not built, and cannot be built here: ${obstacle}. Its pages, which links in mails open, answer ` +
      "503 until npm run build:console has run where the program folder can be written",
  );
  return { consoleFolder: folder, isConsoleBuilding: () => false };
}

/** Returns why the console cannot be built here; undefined where it can. */
function buildObstacle(folder: string): string | undefined {
  if (!existsSync(join(root, "node_modules/vite"))) return "the packages for development are not installed";
  const cache = dirname(folder);
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, modes.W_OK);
    return undefined;
  } catch (error) {
    return `${cache} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`;
  }
}

/**
 * Builds the console in a process of its own, at a low priority: the servers that start beside it come first. A build
 * that fails leaves the API as it is. Returns whether the build is under way.
 */
function buildBeside(say: (line: string) => void, signal: AbortSignal): () => boolean {
  const began = performance.now();
  say("Building the console (once after a change)");
  const child = spawn(process.execPath, [join(root, "src/launch/build-console.ts")], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let isRunning = true;
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    errors = (errors + part).slice(-4_000);
  });
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  child.once("error", (error) => {
    isRunning = false;
    say(`The console was not built: ${error.message}`);
  });
  child.once("exit", (code) => {
    isRunning = false;
    signal.removeEventListener("abort", stop);
    if (code === 0) say(`Built the console in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    else if (!signal.aborted) say(`The console was not built; npm run build:console shows why: ${errors.trim()}`);
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return () => isRunning;
}
