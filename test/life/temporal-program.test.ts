import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findTemporalProgram } from "../../src/app/dev/temporal-program.ts";
import { TEMPORAL_CLI_VERSION } from "../../src/app/dev/temporal-search.ts";
import { testFolder } from "../support/program.ts";

let folder: ReturnType<typeof testFolder>;
beforeEach(() => {
  folder = testFolder();
});
afterEach(() => folder.remove());

/** A port that fetch refuses: no internet. */
const NOWHERE = "http://127.0.0.1:1";

/** A folder for the PATH with a shell script in it. */
function pathWith(name: string, script: string): string {
  const path = join(folder.path, `path-${name}`);
  mkdirSync(path);
  writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, name), 0o755);
  return path;
}

function search(path: string, downloadOrigin = NOWHERE, checksums?: Record<string, string>) {
  const lines: string[] = [];
  const cacheHome = join(folder.path, "cache");
  return {
    lines,
    kept: join(cacheHome, "atrium", "temporal", TEMPORAL_CLI_VERSION),
    run: () =>
      findTemporalProgram({
        path,
        cacheHome,
        log: (line) => lines.push(line),
        heartbeatMs: 20,
        downloadOrigin,
        ...(checksums && { checksums }),
      }),
  };
}

/** A substitute for Go that records its runs and puts a program in GOBIN, slowly. */
const GO =
  'echo run >> "$(dirname "$0")/runs"; sleep 0.3; ' +
  'printf "#!/bin/sh\\necho temporal version 1\\n" > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"; ' +
  'echo "$@ $CGO_ENABLED" > "$(dirname "$0")/said"';

test("a Temporal program on the PATH is used as it is", async () => {
  const path = pathWith("temporal", "exit 0");
  expect(await search(`/nowhere:${path}`).run()).toBe(join(path, "temporal"));
});

test("without the internet the Temporal program is built once with Go, for any number of callers", async () => {
  const path = pathWith("go", GO);
  const { run, kept, lines } = search(path);
  const found = await Promise.all([run(), run(), run()]);
  expect(new Set(found)).toEqual(new Set([join(kept, "temporal")]));
  expect(readFileSync(join(path, "runs"), "utf8")).toBe("run\n");
  expect(readFileSync(join(path, "said"), "utf8")).toBe(
    `install -ldflags -s -w github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION} 0\n`,
  );
  expect(lines).toContain("Building the Temporal development server with Go (a few minutes, once)");
  // Other things are built at the same time, so each line of progress names what it is about.
  expect(lines).toContainEqual(expect.stringMatching(/^Still building the Temporal development server \(\d+ s\)$/u));
  expect(readdirSync(kept).sort()).toEqual(["lock.db", "temporal"]);
});

/** A place that archives are downloaded from, with a program in them that says a version. */
async function archives(): Promise<{ origin: string; sum: string; asked: string[]; close(): Promise<void> }> {
  const source = pathWith("temporal", "echo temporal version 1");
  const archive = execFileSync("tar", ["-czf", "-", "-C", source, "temporal"]);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end(archive);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sum: createHash("sha256").update(archive).digest("hex"),
    asked,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;

test("with the internet the archive is downloaded, verified by its checksum and unpacked", async () => {
  const from = await archives();
  const { run, kept } = search("/usr/bin:/bin", from.origin, { [platform]: from.sum });
  expect(await run()).toBe(join(kept, "temporal"));
  const name = `temporal_cli_${TEMPORAL_CLI_VERSION}_${platform}.tar.gz`;
  expect(from.asked).toEqual([`/temporalio/cli/releases/download/v${TEMPORAL_CLI_VERSION}/${name}`]);
  await from.close();
});

test("an archive with another checksum is never unpacked or run", async () => {
  const from = await archives();
  const { run, kept } = search(pathWith("go", "echo no module proxy >&2; exit 1"), from.origin);
  await expect(run()).rejects.toThrow(`the downloaded archive has the wrong checksum (SHA-256 ${from.sum}, expected `);
  expect(readdirSync(kept)).toEqual(["lock.db"]);
  await from.close();
});

test("when every attempt fails, the error names them and says what to do, and the cache stays empty", async () => {
  const { run, kept } = search(pathWith("go", "echo no module proxy >&2; exit 1"));
  const download = String.raw`it could not be downloaded \([^)]+\)`;
  const build = String.raw`Go could not build it \(no module proxy\)`;
  const remedy = "Install .* or set TEMPORAL_ADDRESS";
  await expect(run()).rejects.toThrow(
    new RegExp(String.raw`^There is no Temporal server: none on the PATH, ${download}, ${build}\. ${remedy}`),
  );
  expect(readdirSync(kept)).toEqual(["lock.db"]);
});

test("a built program that does not run is not kept", async () => {
  const { run, kept } = search(
    pathWith("go", 'printf "#!/bin/sh\\nexit 3\\n" > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"'),
  );
  await expect(run()).rejects.toThrow(/exit code 3/);
  expect(readdirSync(kept)).toEqual(["lock.db"]);
});
