import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileFlatBuffers } from "./flatbuffers.ts";
import { indexFiles } from "./index-files.ts";
import { must, root } from "./run.ts";
import { generateWorkloadApi } from "./workload-api.ts";

/** Generates everything that belongs in `gen/` from `proto/` and `fbs/`: path to text. */
export async function generate(): Promise<Map<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "atrium-contract-"));
  try {
    must("buf", "generate", "-o", folder);
    const gen = join(folder, "gen");
    const files = readTree(gen);
    for (const [path, text] of generateWorkloadApi(folder)) files.set(path, text);
    for (const [path, text] of indexFiles(gen)) files.set(path, text);
    for (const [name, text] of await compileFlatBuffers(join(root, "fbs"))) files.set(join("fbs", name), text);
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every file below a folder: path to text. */
export function readTree(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

/** Updates `gen/` to the contract: writes what differs, removes what is obsolete. */
async function main(): Promise<void> {
  const gen = join(root, "gen");
  mkdirSync(gen, { recursive: true });
  const [wanted, present] = [await generate(), readTree(gen)];
  let written = 0;
  for (const [path, text] of wanted) {
    if (present.get(path) === text) continue;
    mkdirSync(dirname(join(gen, path)), { recursive: true });
    writeFileSync(join(gen, path), text);
    written++;
  }
  const stale = [...present.keys()].filter((path) => !wanted.has(path));
  for (const path of stale) rmSync(join(gen, path));
  console.log(`gen/: ${wanted.size} files, ${written} written, ${stale.length} removed`);
}

if (import.meta.main) await main();
