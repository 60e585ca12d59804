import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileFlatBuffers } from "./flatbuffers.ts";
import { eventsDocument } from "./events-document.ts";
import { guidesFile } from "./guides.ts";
import { errorCodesFile, errorsDocument } from "./error-files.ts";
import { indexFiles } from "./index-files.ts";
import { generateGo, GO, goFiles } from "./clients/go.ts";
import { generatePython, PYTHON, pythonFiles } from "./clients/python.ts";
import { must, root } from "./run.ts";
import { webhookEventsFile, webhookSamplesFile } from "./webhook-events.ts";
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
    files.set("webhook-events.ts", webhookEventsFile());
    files.set("webhook-samples.ts", webhookSamplesFile());
    for (const [name, text] of await compileFlatBuffers(join(root, "fbs"))) files.set(join("fbs", name), text);
    files.set("error-codes.ts", errorCodesFile());
    files.set("guides.json", guidesFile());
    for (const [path, text] of clientFiles(folder)) files.set(path, text);
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What the clients in Python and Go are made of. Where the tools of a language are missing, its files stay as they
 * are, and a line says so.
 */
function clientFiles(folder: string): Map<string, string> {
  const kept = (language: string): [string, string][] =>
    [...readTree(join(root, "gen", language))].map(([path, text]) => [join(language, path), text]);
  const made = (language: string): [string, string][] =>
    [...readTree(join(folder, language))].map(([path, text]) => [join(language, path), text]);
  const python = generatePython(folder, ["proto"]) ? made(PYTHON) : kept(PYTHON);
  const go = generateGo(folder, ["proto"]) ? made(GO) : kept(GO);
  const modules = python.map(([path]) => path.slice(PYTHON.length + 1)).filter((path) => path.endsWith("_pb2.py"));
  return new Map([...python, ...go, ...pythonFiles(modules), ...goFiles()]);
}

/** Generates the documents that are made from the code: path to text. */
export function generateDocuments(): Map<string, string> {
  return new Map([
    ["docs/errors.md", errorsDocument()],
    ["docs/events.md", eventsDocument()],
  ]);
}

/** Every file below a folder: path to text. */
export function readTree(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

/** Argument that updates the documents alone. */
const DOCUMENTS = "documents";

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
  // By another process: this one has loaded the descriptors as they were before.
  must(process.execPath, import.meta.filename, DOCUMENTS);
  console.log(`gen/: ${wanted.size} files, ${written} written, ${stale.length} removed`);
}

function writeDocuments(): void {
  for (const [path, text] of generateDocuments()) writeFileSync(join(root, path), text);
}

if (import.meta.main) {
  if (process.argv[2] === DOCUMENTS) writeDocuments();
  else await main();
}
