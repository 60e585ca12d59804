/**
 * `npm run pack:clients`: builds `@atrium/client` and packs it into one tarball in `dist/clients/`.
 *
 * What an application installs stays below 3 MB. The libraries as published are 3.4 MB by themselves, most of which no
 * application loads: CommonJS beside ES modules, other protocols, servers, documentation. So the package has the used
 * code of Connect, jose and Standard Webhooks in itself (`bundle.ts`), with the types of Connect that its own name.
 * `@bufbuild/protobuf` stays a dependency: its types tie a message to its schema, and an application that calls
 * `create` or `toJson` does so with the one copy that is installed. An application's own copy of Connect works with the
 * package: its types are compared by structure, and `instanceof ConnectError` by what an error has.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { bundleLibraries } from "./bundle.ts";
import { copyTypes, removeUnreached, slimDeclarations, withJsExtensions } from "./declarations.ts";
import { slim } from "./slim.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = path.join(root, "src/clients/typescript");
const SOURCE = "./src/clients/typescript";
const CONNECT_TYPES = path.join(root, "node_modules/@connectrpc/connect/dist/esm");

interface Manifest {
  dependencies: Readonly<Record<string, string>>;
  peerDependencies: Readonly<Record<string, string>>;
}

/** Entries of the package that are files of the client. `webhooks` is also an area, which it exports too. */
const ENTRIES: Readonly<Record<string, string>> = {
  ".": `${SOURCE}/index.js`,
  "./verify": `${SOURCE}/verify/index.js`,
  "./webhooks": `${SOURCE}/webhooks/index.js`,
  "./publisher": `${SOURCE}/publisher/index.js`,
  "./node": `${SOURCE}/node/index.js`,
};

/** Builds the package. @returns the path of its tarball */
export function packTypeScript(target = path.join(root, "dist/clients")): string {
  const built = path.join(target, "typescript");
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  run("tsc", ["-p", source, "--outDir", built]);
  for (const name of readdirSync(built, { recursive: true, encoding: "utf8" })) {
    const file = path.join(built, name);
    if (name.endsWith("_pb.js")) rewrite(file, slim);
    if (name.endsWith("_pb.d.ts")) rewrite(file, slimDeclarations);
    if (name.endsWith(".d.ts")) rewrite(file, withJsExtensions);
  }
  const bundled = path.join(built, SOURCE, "bundled");
  bundleLibraries(path.join(source, "bundled"), bundled, built);
  copyTypes(path.join(bundled, "connect.d.ts"), CONNECT_TYPES);

  const areas = readdirSync(path.join(root, "gen/atrium")).map(
    (area) => [`./${area.replaceAll("_", "-")}`, `./gen/atrium/${area}/v1/index.js`] as const,
  );
  const entries = { ...Object.fromEntries(areas), ...ENTRIES };
  const imported = removeUnreached(built, Object.values(entries));
  const exports = Object.fromEntries(
    Object.entries(entries).map(([name, file]) => [name, { types: file.replace(/\.js$/u, ".d.ts"), default: file }]),
  );
  const manifest = JSON.parse(readFileSync(path.join(source, "package.json"), "utf8")) as Manifest;
  const installed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const missing = [...imported].filter((name) => !installed.has(name) && !name.startsWith("node:"));
  if (missing.length > 0)
    throw new Error(`The package imports ${missing.join(", ")}: depend on it, or take it from bundled/.`);
  writeFileSync(
    path.join(built, "package.json"),
    `${JSON.stringify({ ...manifest, exports: { ...exports, "./package.json": "./package.json" } }, null, 2)}\n`,
  );
  cpSync(path.join(source, "README.md"), path.join(built, "README.md"));
  const name = run("npm", ["pack", "--silent", "--pack-destination", target], built).trim().split("\n").at(-1) ?? "";
  return path.join(target, name);
}

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

function run(program: string, args: readonly string[], cwd = root): string {
  return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

if (import.meta.main) process.stdout.write(`${packTypeScript()}\n`);
