import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { runCommand } from "./command.ts";
import { TEMPORAL_CLI_VERSION } from "./temporal-program.ts";
import type { TemporalSearch } from "./temporal-program.ts";

/** A network that does not answer within this time counts as none; milliseconds. */
const ANSWER_MS = 5000;
const DOWNLOAD_MS = 180_000;

/**
 * Downloads the official archive of the Temporal CLI for this platform and unpacks it.
 * @returns why it did not work, or undefined when `<work>/temporal` is there.
 */
export async function download(work: string, { log, signal, downloadOrigin = "https://temporal.download", path }: TemporalSearch): Promise<string | undefined> {
  const arch = ({ x64: "amd64", arm64: "arm64" } as Record<string, string>)[process.arch];
  if (arch === undefined || !["linux", "darwin"].includes(process.platform)) return "no download for this platform";
  const patience = new AbortController();
  const signals = AbortSignal.any([patience.signal, AbortSignal.timeout(DOWNLOAD_MS), ...(signal === undefined ? [] : [signal])]);
  const timer = setTimeout(() => patience.abort(new Error(`no answer within ${ANSWER_MS / 1000} s`)), ANSWER_MS);
  try {
    const response = await fetch(`${downloadOrigin}/cli/archive/v${TEMPORAL_CLI_VERSION}?platform=${process.platform}&arch=${arch}`, { signal: signals });
    clearTimeout(timer);
    if (!response.ok || response.body === null) return `the download answered ${response.status}`;
    log("downloading the Temporal development server, once");
    const archive = join(work, "archive.tar.gz");
    await pipeline(Readable.fromWeb(response.body), createWriteStream(archive), { signal: signals });
    const { error } = await runCommand("tar", ["-xzf", archive, "temporal"], { cwd: work, env: { PATH: path ?? "/usr/bin:/bin" }, signal });
    return error === undefined ? undefined : `the downloaded archive could not be unpacked (${error})`;
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause?.code;
    return `it could not be downloaded (${cause ?? (error as Error).message})`;
  } finally {
    clearTimeout(timer);
  }
}
