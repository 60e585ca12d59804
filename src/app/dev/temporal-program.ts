import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "./command.ts";
import { tryLock } from "./lock.ts";
import { StartError } from "../../platform/start-error.ts";
import { download } from "./temporal-download.ts";

/** Version of the Temporal CLI we get when the machine has none; the newest that `go install` takes. */
export const TEMPORAL_CLI_VERSION = "1.5.1";

/** What finding the program needs of the environment. */
export interface TemporalSearch {
  /** `PATH`. */
  path: string | undefined;
  /** `XDG_CACHE_HOME`; `~/.cache` when unset. */
  cacheHome: string | undefined;
  /** One line about what goes on. */
  log(line: string): void;
  /** Gives up when it fires. */
  signal?: AbortSignal | undefined;
  /** Where archives come from; another origin in tests. */
  downloadOrigin?: string;
  /** SHA-256 of archives by platform (`linux_amd64`); others in tests. */
  checksums?: Readonly<Record<string, string>>;
}

/**
 * The `temporal` program: one on the PATH, else the one kept in the user's cache folder, which is filled
 * by a download or, without the internet, by building it with Go (about 3 minutes, once). Of several that
 * need it at once, one gets it and the others wait.
 * @returns its absolute path.
 * @throws StartError with the remedy when there is no way to have it.
 */
export async function temporalProgram(search: TemporalSearch): Promise<string> {
  const found = onPath(search.path, "temporal");
  if (found !== null) return found;
  const folder = join(search.cacheHome || join(homedir(), ".cache"), "atrium", "temporal", TEMPORAL_CLI_VERSION);
  const kept = join(folder, "temporal");
  if (isProgram(kept)) return kept;
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new StartError(
      `The cache folder ${folder} cannot be written, and the Temporal development server is to be kept there; set XDG_CACHE_HOME, or TEMPORAL_ADDRESS to a server of yours.`,
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
    if (tries === 0) log("another process is getting the Temporal development server; waiting for it");
    await sleep(500, undefined, { signal });
  }
}

/** Puts the program in place by a rename, so that there is never half of it. */
async function obtain(folder: string, kept: string, search: TemporalSearch): Promise<void> {
  const work = mkdtempSync(join(folder, "new-"));
  const reasons: string[] = [];
  try {
    for (const way of [download, buildWithGo]) {
      const reason = await way(work, search);
      search.signal?.throwIfAborted();
      const version =
        reason ??
        (
          await runCommand(join(work, "temporal"), ["--version"], {
            cwd: work,
            env: { PATH: search.path ?? "", HOME: work },
          })
        ).error;
      if (version === undefined) {
        renameSync(join(work, "temporal"), kept);
        return;
      }
      reasons.push(version);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new StartError(
    `There is no Temporal server: none on the PATH, ${reasons.join(", ")}. ` +
      "Install the Temporal CLI (https://docs.temporal.io/cli) or Go (https://go.dev/dl), or set TEMPORAL_ADDRESS to a running server.",
  );
}

/**
 * Builds the program. Go compares every module it fetches with its checksum database (GOSUMDB), so what is built is
 * what was published under that version.
 * @returns why it did not work, or undefined when `<work>/temporal` is there.
 */
async function buildWithGo(work: string, { path, log, signal }: TemporalSearch): Promise<string | undefined> {
  const go = onPath(path, "go") ?? onPath("/usr/local/go/bin:/opt/homebrew/bin:/usr/local/bin", "go");
  if (go === null) return "no Go to build it with";
  log("building the Temporal development server with Go, about 3 minutes, once");
  const began = Date.now();
  const heartbeat = setInterval(() => log(`still building it (${Math.round((Date.now() - began) / 1000)} s)`), 20_000);
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
    if (error === undefined) log(`built it in ${Math.round((Date.now() - began) / 1000)} s`);
    return error === undefined ? undefined : `Go could not build it (${error})`;
  } finally {
    clearInterval(heartbeat);
  }
}

/** The first program of that name on a PATH, or null. */
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
