/** `npm run pack:clients`: builds `@atrium/client` and packs it into one tarball in `dist/clients/`. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { slim } from "./slim.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = path.join(root, "src/clients/typescript");
const SOURCE = "./src/clients/typescript";

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
  for (const file of readdirSync(path.join(built, "gen"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith("_pb.js")) continue;
    const module = path.join(built, "gen", file);
    writeFileSync(module, slim(readFileSync(module, "utf8")));
  }
  const areas = readdirSync(path.join(root, "gen/atrium")).map(
    (area) => [`./${area.replaceAll("_", "-")}`, `./gen/atrium/${area}/v1/index.js`] as const,
  );
  const entries = { ...Object.fromEntries(areas), ...ENTRIES };
  const exports = Object.fromEntries(
    Object.entries(entries).map(([name, file]) => [name, { types: file.replace(/\.js$/u, ".d.ts"), default: file }]),
  );
  const manifest = JSON.parse(readFileSync(path.join(source, "package.json"), "utf8")) as object;
  writeFileSync(
    path.join(built, "package.json"),
    `${JSON.stringify({ ...manifest, exports: { ...exports, "./package.json": "./package.json" } }, null, 2)}\n`,
  );
  cpSync(path.join(source, "README.md"), path.join(built, "README.md"));
  const name = run("npm", ["pack", "--silent", "--pack-destination", target], built).trim().split("\n").at(-1) ?? "";
  return path.join(target, name);
}

function run(program: string, args: readonly string[], cwd = root): string {
  return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

if (import.meta.main) process.stdout.write(`${packTypeScript()}\n`);
