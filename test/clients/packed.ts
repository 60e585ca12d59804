import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packTypeScript } from "../../src/clients/pack.ts";
import { root } from "../shape/sources.ts";

/** A folder in which the packed client is installed, as in a project that depends on it. */
export interface Installed {
  folder: string;
  tarball: string;
  remove(): void;
}

/** Packs the client and installs it, with the dependencies that its manifest lists, from this repository's. */
export function installPacked(others: readonly string[] = []): Installed {
  const folder = mkdtempSync(path.join(tmpdir(), "atrium-client-"));
  const tarball = packTypeScript(path.join(folder, "packed"));
  const modules = path.join(folder, "node_modules");
  const target = path.join(modules, "@atrium/client");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["xzf", tarball, "-C", target, "--strip-components=1"]);
  for (const name of ["@bufbuild/protobuf", ...others]) {
    const link = path.join(modules, name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(root, "node_modules", name), link);
  }
  return { folder, tarball, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
