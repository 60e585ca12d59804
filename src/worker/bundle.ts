import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { bundleWorkflowCode } from "@temporalio/worker";
import type { Logger } from "@temporalio/worker";

const root = fileURLToPath(new URL("../../", import.meta.url));
const entry = fileURLToPath(new URL("./workflows.ts", import.meta.url));
const trace = fileURLToPath(new URL("./workflow-trace.ts", import.meta.url));
const cacheFolder = path.join(root, "node_modules/.cache/atrium");

/** Source files a workflow bundle can depend on: workflows, their entry and interceptors, the packages' versions. */
async function sources(): Promise<string[]> {
  const domains = path.join(root, "src/domains");
  const files = await readdir(domains, { recursive: true });
  const workflows = files.filter((file) => file.includes(`${path.sep}workflows${path.sep}`) && file.endsWith(".ts"));
  return [entry, trace, path.join(root, "package-lock.json"), ...workflows.sort().map((file) => path.join(domains, file))];
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of await sources()) hash.update(file.slice(root.length)).update("\0").update(await readFile(file)).update("\0");
  return hash.digest("hex").slice(0, 32);
}

const quiet: Logger = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: (message) => process.stderr.write(`${message}\n`) };

/**
 * The workflow code as one bundle, made ahead of time and kept beside the packages under a name that says which sources it
 * was made of. Answers the file's path; makes the file when it is missing (about a second).
 */
export async function workflowBundle(): Promise<string> {
  const file = path.join(cacheFolder, `workflows-${await fingerprint()}.js`);
  try {
    await readFile(file);
    return file;
  } catch {
    const { code } = await bundleWorkflowCode({ workflowsPath: entry, workflowInterceptorModules: [trace], logger: quiet });
    await mkdir(cacheFolder, { recursive: true });
    const fresh = `${file}.${process.pid}`;
    await writeFile(fresh, code);
    await rename(fresh, file);
    return file;
  }
}
