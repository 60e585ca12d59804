import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "./command.ts";
import { tryLock } from "./lock.ts";
import { StartError } from "../../platform/start-error.ts";
import { download } from "./temporal-download.ts";
import { TEMPORAL_CLI_VERSION } from "./temporal-search.ts";
import type { TemporalSearch } from "./temporal-search.ts";

/**
 * Finds the `temporal` program: on the PATH, else in the user's cache folder, to which it is downloaded or, without the
 * internet, built with Go (a few minutes, once). Of several processes that need it at once, one gets it and the
 * others wait.
 * @returns its absolute path.
 * @throws StartError when there is no way to get it; the message says what to install or set.
 */
export async function findTemporalProgram(search: TemporalSearch): Promise<string> {
  const found = onPath(search.path, "temporal");
  if (found !== null) return found;
  const folder = join(search.cacheHome || join(homedir(), ".cache"), "atrium", "temporal", TEMPORAL_CLI_VERSION);
  const kept = join(folder, "temporal");
  if (isProgram(kept)) return kept;
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new StartError(
      `The cache folder ${folder} for the Temporal development server cannot be written; ` +
        "set XDG_CACHE_HOME to a writable folder, or TEMPORAL_ADDRESS to a running server.",
      error,
    );
  }
  const lock = await waitForLock(folder, search);
  try {
    if (!isProgram(kept)) await obtain(folder, kept, search);
    return kept;
  } finally {
    lock.release();
  }
}

async function waitForLock(folder: string, { log, signal }: TemporalSearch) {
  for (let tries = 0; ; tries += 1) {
    const lock = tryLock(folder);
    if (lock !== null) return lock;
    if (tries === 0) log("Another process is getting the Temporal development server; waiting for it");
    await sleep(500, undefined, { signal });
  }
}

/** Gets the program and renames it to its final path, so that it is never incomplete there. */
async function obtain(folder: string, kept: string, search: TemporalSearch): Promise<void> {
  const work = mkdtempSync(join(folder, "new-"));
  const reasons: string[] = [];
  try {
    for (const obtainBy of [download, buildWithGo]) {
      const failure = await obtainBy(work, search);
      search.signal?.throwIfAborted();
      const reason =
        failure ??
        (
          await runCommand(join(work, "temporal"), ["--version"], {
            cwd: work,
            env: { PATH: search.path ?? "", HOME: work },
          })
        ).error;
      if (reason === undefined) {
        renameSync(join(work, "temporal"), kept);
        return;
      }
      reasons.push(reason);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new StartError(
    `There is no Temporal server: none on the PATH, ${reasons.join(", ")}. ` +
      "Install the Temporal CLI (https://docs.temporal.io/cli) or Go (https://go.dev/dl), " +
      "or set TEMPORAL_ADDRESS to a running server.",
  );
}

/**
 * Builds the program. Go verifies every module it fetches with its checksum database (GOSUMDB), so the sources are
 * those published under that version.
 * @returns the reason of a failure, or undefined when `<work>/temporal` exists.
 */
async function buildWithGo(
  work: string,
  { path, log, signal, heartbeatMs = 20_000 }: TemporalSearch,
): Promise<string | undefined> {
  const go = onPath(path, "go") ?? onPath("/usr/local/go/bin:/opt/homebrew/bin:/usr/local/bin", "go");
  if (go === null) return "Go is not installed";
  log("Building the Temporal development server with Go (a few minutes, once)");
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const heartbeat = setInterval(
    () => log(`Still building the Temporal development server (${seconds()} s)`),
    heartbeatMs,
  );
  try {
    const { error } = await runCommand(
      go,
      ["install", "-ldflags", "-s -w", `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`],
      {
        cwd: work,
        env: "inherit",
        more: { CGO_ENABLED: "0", GOBIN: work },
        signal,
      },
    );
    if (error === undefined) log(`Built the Temporal development server in ${seconds()} s`);
    return error === undefined ? undefined : `Go could not build it (${error})`;
  } finally {
    clearInterval(heartbeat);
  }
}

/** The first program of that name on a PATH; null when there is none. */
function onPath(path: string | undefined, name: string): string | null {
  const candidates = (path ?? "")
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, name));
  return candidates.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
