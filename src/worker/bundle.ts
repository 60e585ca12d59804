import { createHash } from "node:crypto";
import { access, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { bundleWorkflowCode } from "@temporalio/worker";
import type { Logger } from "@temporalio/worker";

const root = fileURLToPath(new URL("../../", import.meta.url));
const entry = fileURLToPath(new URL("./workflows.ts", import.meta.url));
const trace = fileURLToPath(new URL("./workflow-trace.ts", import.meta.url));
const cacheFolder = path.join(root, "node_modules/.cache/atrium");

/** Returns the files a workflow bundle depends on: workflows, their entry and interceptors, the package versions. */
async function sourceFiles(): Promise<string[]> {
  const domains = path.join(root, "src/domains");
  const files = await readdir(domains, { recursive: true });
  const workflows = files.filter((file) => file.includes(`${path.sep}workflows${path.sep}`) && file.endsWith(".ts"));
  return [
    entry,
    trace,
    path.join(root, "package-lock.json"),
    ...workflows.sort().map((file) => path.join(domains, file)),
  ];
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of await sourceFiles())
    hash
      .update(file.slice(root.length))
      .update("\0")
      .update(await readFile(file))
      .update("\0");
  return hash.digest("hex").slice(0, 32);
}

/** Logs errors only. */
const errorLogger: Logger = {
  log() {},
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error: (message) => process.stderr.write(`${message}\n`),
};

/** Workflow code in the form the SDK accepts: the path of a file, or the code itself. */
export type StoredBundle = { codePath: string } | { code: string };

/**
 * Returns the workflow code as one bundle. The bundle is built at installation and stored in the cache folder under the
 * hash of its sources. A missing bundle is built now (about 1 s) and stays in memory if the file system is read-only.
 */
export async function workflowBundle(folder: string = cacheFolder): Promise<StoredBundle> {
  const name = `workflows-${await fingerprint()}.js`;
  const codePath = path.join(folder, name);
  try {
    await access(codePath);
    return { codePath };
  } catch {
    const { code } = await bundleWorkflowCode({
      workflowsPath: entry,
      workflowInterceptorModules: [trace],
      logger: errorLogger,
    });
    return (await store(folder, name, code)) ? { codePath } : { code };
  }
}

/** Writes the bundle and removes bundles of other sources; false when it cannot be written. */
async function store(folder: string, name: string, code: string): Promise<boolean> {
  const fresh = path.join(folder, `${name}.${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(fresh, code);
    await rename(fresh, path.join(folder, name));
  } catch {
    return false;
  }
  const others = (await readdir(folder)).filter((file) => /^workflows-\w+\.js$/.test(file) && file !== name);
  await Promise.all(others.map((file) => rm(path.join(folder, file), { force: true })));
  return true;
}
