import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Scenario } from "./scenario.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));

/** The check of test/lists of every plan, over this many rows of every table that a list reads. */
export function plansOfLists(rows: number): Scenario {
  return async (log) => {
    const args = [vitest, "run", "--config", "test/vitest.config.ts", "test/lists/plans.test.ts"];
    const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ATRIUM_TEST_ROWS: String(rows) } });
    // Vitest removes its database after SIGINT, not after SIGTERM.
    const end = (): boolean => child.kill("SIGINT");
    process.once("exit", end);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    const since = Date.now();
    const [code] = (await once(child, "close")) as [number | null];
    process.off("exit", end);
    log(`${rows} rows of each table; made and looked at in ${Math.round((Date.now() - since) / 1_000)} s`);
    return code === 0 ? [] : [said.join("")];
  };
}
