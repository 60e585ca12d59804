import { mkdirSync, renameSync, rmSync, statSync, readdirSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";
import { consoleFolder, isBuilt } from "./console.ts";

/** Builds of other sources are kept this long: a service that still serves one reads its files. */
const KEPT_MS = 7 * 86_400_000;

/** `npm run build:console`: builds the console unless the build of these sources exists. */
async function buildConsole(): Promise<string> {
  const folder = consoleFolder();
  if (isBuilt(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  try {
    const root = fileURLToPath(new URL("../console", import.meta.url));
    // Anything else, such as the `test` of a test runner, would bundle the development build of React.
    process.env["NODE_ENV"] = "production";
    await build({
      root,
      configFile: join(root, "vite.config.ts"),
      logLevel: "warn",
      build: { outDir: draft, emptyOutDir: true },
    });
    await compress(join(draft, "console", "assets"));
    // Renamed when it is complete: the service serves what is there.
    if (!isBuilt(folder)) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(draft, folder);
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  removeOld(dirname(folder), folder);
  return folder;
}

/** Writes each asset in the encodings that are served. */
async function compress(folder: string): Promise<void> {
  await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const content = await readFile(join(folder, name));
      const [small, smaller] = await Promise.all([
        promisify(gzip)(content, { level: 9 }),
        promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
      ]);
      await Promise.all([writeFile(join(folder, `${name}.gz`), small), writeFile(join(folder, `${name}.br`), smaller)]);
    }),
  );
}

function removeOld(parent: string, present: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (path !== present && Date.now() - statSync(path).mtimeMs > KEPT_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

console.log(`The console is built in ${await buildConsole()}`);
