import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A folder of files for command-line tools. */
export interface Workbench {
  /** Runs `openssl` in the folder; returns its output, of both streams, and whether it succeeded. */
  openssl(...args: string[]): Promise<{ ok: boolean; output: string }>;
  /** Runs any program in the folder. */
  run(program: string, ...args: string[]): Promise<{ ok: boolean; output: string }>;
  write(name: string, content: string | Buffer): Promise<void>;
  read(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Opens an empty folder. */
export async function openWorkbench(): Promise<Workbench> {
  const folder = await mkdtemp(join(tmpdir(), "atrium-x509-"));
  const call = async (program: string, ...args: string[]) => {
    try {
      const { stdout, stderr } = await run(program, args, { cwd: folder, maxBuffer: 64 << 20 });
      return { ok: true, output: stdout + stderr };
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      return { ok: false, output: stdout + stderr || String(error) };
    }
  };
  return {
    run: call,
    openssl: (...args) => call("openssl", ...args),
    write: (name, content) => writeFile(join(folder, name), content),
    read: (name) => readFile(join(folder, name), "utf8"),
    close: () => rm(folder, { recursive: true }),
  };
}
