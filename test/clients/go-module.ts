import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { zipSync } from "fflate";
import { root } from "../contract/run.ts";
import { goEnvironment } from "../contract/clients/tools.ts";

const MODULE = "atrium.example/atrium";

/** The Go module of this repository, as a proxy of modules has a tagged version of it. */
export interface GoModule {
  /** The tag; no two are the same, so that Go remembers none of them. */
  version: string;
  /** With it, `go` gets the module from the proxy, and all others as always. */
  env: NodeJS.ProcessEnv;
  remove(): void;
}

/**
 * Publishes the module to a folder, in the form of the GOPROXY protocol: every file that is tracked, but for modules of
 * their own. Go refuses names of files that a module cannot have.
 */
export function publishGoModule(): GoModule {
  const version = `v0.1.1-test.${Date.now()}`;
  const folder = mkdtempSync(join(tmpdir(), "atrium-goproxy-"));
  const versions = join(folder, MODULE, "@v");
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
  const others = files.filter((file) => file.endsWith("/go.mod")).map((file) => file.slice(0, -"go.mod".length));
  const own = files.filter((file) => !others.some((folder) => file.startsWith(folder)));
  const entries = own.map((file) => [`${MODULE}@${version}/${file}`, new Uint8Array(readFileSync(join(root, file)))]);
  mkdirSync(versions, { recursive: true });
  writeFileSync(join(versions, "list"), `${version}\n`);
  writeFileSync(
    join(versions, `${version}.info`),
    JSON.stringify({ Version: version, Time: new Date().toISOString() }),
  );
  writeFileSync(join(versions, `${version}.mod`), readFileSync(join(root, "go.mod")));
  writeFileSync(join(versions, `${version}.zip`), zipSync(Object.fromEntries(entries) as Record<string, Uint8Array>));
  const go = (name: string): string =>
    execFileSync("go", ["env", name], { env: goEnvironment, encoding: "utf8" }).trim();
  return {
    version,
    env: {
      ...goEnvironment,
      GOPROXY: `${pathToFileURL(folder).href},${go("GOPROXY")}`,
      GONOSUMDB: MODULE,
      GOFLAGS: "-mod=mod",
    },
    remove() {
      const cache = go("GOMODCACHE");
      // Go keeps modules read-only.
      const unpacked = join(cache, `${MODULE}@${version}`);
      if (existsSync(unpacked)) execFileSync("chmod", ["-R", "u+w", unpacked]);
      for (const path of [folder, unpacked, join(cache, "cache/download", MODULE)])
        rmSync(path, { recursive: true, force: true });
    },
  };
}
