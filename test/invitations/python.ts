import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileFlatBuffers } from "../contract/flatbuffers.ts";

/** The runtime of the same version as the service's own. */
const runtime = "flatbuffers==25.9.23";
const folder = join(tmpdir(), "atrium-python-flatbuffers-25.9.23");
const schemas = new URL("../../fbs", import.meta.url).pathname;
const script = new URL("verify.py", import.meta.url).pathname;

/** Reads a binary response to an acceptance with Python; a string says why this machine cannot. */
export type PythonReader = ((answer: Uint8Array) => Record<string, unknown>) | string;

/** Makes, once on a machine, a Python environment with the FlatBuffers runtime from the registry. */
export async function pythonReader(): Promise<PythonReader> {
  const python = join(folder, "bin", "python3");
  if (!existsSync(join(folder, "ready"))) {
    const fault = await prepare();
    if (fault !== undefined) return fault;
  }
  return (answer) => {
    const { status, stdout, stderr } = spawnSync(python, [script, join(folder, "generated")], { input: answer });
    if (status !== 0) throw new Error(`Python refuses the answer: ${stderr.toString()}${stdout.toString()}`);
    return JSON.parse(stdout.toString()) as Record<string, unknown>;
  };
}

/**
 * Builds the environment beside its place and moves it there, so that a broken one is never found; returns what went
 * wrong.
 */
async function prepare(): Promise<string | undefined> {
  const made = await mkdtemp(join(dirname(folder), "atrium-python-"));
  const venv = spawnSync("python3", ["-m", "venv", made]);
  if (venv.error !== undefined || venv.status !== 0)
    return `python3 with venv is needed: ${venv.error?.message ?? venv.stderr.toString()}`;
  const install = spawnSync(
    join(made, "bin", "python3"),
    ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", runtime],
    { timeout: 600_000 },
  );
  if (install.status !== 0) return `pip cannot install ${runtime}: ${install.stderr.toString().slice(-500)}`;
  await mkdir(join(made, "generated"));
  for (const [name, text] of await compileFlatBuffers(schemas, "python"))
    await writeFile(join(made, "generated", name), text);
  await writeFile(join(made, "ready"), "");
  await rename(made, folder).catch(() => rm(made, { recursive: true, force: true }));
  return undefined;
}
