import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./command.ts";
import { TEMPORAL_CLI_VERSION } from "./temporal-search.ts";
import type { TemporalSearch } from "./temporal-search.ts";

/** Time limit of the response headers: without them, the machine counts as offline. */
const RESPONSE_MS = 5000;
const DOWNLOAD_MS = 180_000;

/** SHA-256 of the release's archives by platform. No other archive is unpacked or run. */
const CHECKSUMS: Readonly<Record<string, string>> = {
  linux_amd64: "ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d",
  linux_arm64: "bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5",
  darwin_amd64: "bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9",
  darwin_arm64: "cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415",
};

/**
 * Downloads the official archive of the Temporal CLI for this platform, verifies its checksum and unpacks it.
 * @returns the reason of a failure, or undefined when `<work>/temporal` exists.
 */
export async function download(work: string, search: TemporalSearch): Promise<string | undefined> {
  const { log, signal, downloadOrigin = "https://github.com", path } = search;
  const arch = ({ x64: "amd64", arm64: "arm64" } as Record<string, string>)[process.arch] ?? process.arch;
  const platform = `${process.platform}_${arch}`;
  const known = (search.checksums ?? CHECKSUMS)[platform];
  if (known === undefined) return "no download exists for this platform";
  const offline = new AbortController();
  const signals = AbortSignal.any([
    offline.signal,
    AbortSignal.timeout(DOWNLOAD_MS),
    ...(signal === undefined ? [] : [signal]),
  ]);
  const timer = setTimeout(() => offline.abort(new Error(`no response within ${RESPONSE_MS / 1000} s`)), RESPONSE_MS);
  try {
    const name = `temporal_cli_${TEMPORAL_CLI_VERSION}_${platform}.tar.gz`;
    const response = await fetch(
      `${downloadOrigin}/temporalio/cli/releases/download/v${TEMPORAL_CLI_VERSION}/${name}`,
      { signal: signals },
    );
    clearTimeout(timer);
    if (!response.ok) return `the download returned ${response.status}`;
    log("Downloading the Temporal development server (once)");
    const archive = Buffer.from(await response.arrayBuffer());
    const sum = createHash("sha256").update(archive).digest("hex");
    if (sum !== known) return `the downloaded archive has the wrong checksum (SHA-256 ${sum}, expected ${known})`;
    writeFileSync(join(work, "archive.tar.gz"), archive);
    const env = { PATH: path ?? "/usr/bin:/bin" };
    const { error } = await runCommand("tar", ["-xzf", join(work, "archive.tar.gz"), "temporal"], {
      cwd: work,
      env,
      signal,
    });
    return error === undefined ? undefined : `the downloaded archive could not be unpacked (${error})`;
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause?.code;
    return `it could not be downloaded (${cause ?? (error as Error).message})`;
  } finally {
    clearTimeout(timer);
  }
}
