import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));

/**
 * Runs one file of tests with these variables. `onLine` receives each line it prints.
 * @returns whether all tests passed
 */
export async function runTestFile(
  file: string,
  env: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<boolean> {
  const args = [vitest, "run", "--config", "test/vitest.config.ts", file, "--disable-console-intercept"];
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env } });
  // Vitest removes its database after SIGINT, not after SIGTERM.
  const end = (): boolean => child.kill("SIGINT");
  process.once("exit", end);
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", onLine);
  const [code] = (await once(child, "close")) as [number | null];
  process.off("exit", end);
  return code === 0;
}
