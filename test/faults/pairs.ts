import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Scenario } from "./scenario.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));

/** Starts the lines of test/matrix/pairs.test.ts that are meant for whoever waits. */
const PROGRESS = "pairs: ";

/** The check of test/matrix of every two writes at once, or of the first `pairs` of them in the order of a seed. */
export function pairsOfWrites(pairs = Number.MAX_SAFE_INTEGER, seed = randomInt(2 ** 32)): Scenario {
  return async (log) => {
    const args = [vitest, "run", "--config", "test/vitest.config.ts", "test/matrix/pairs.test.ts"];
    const child = spawn(process.execPath, [...args, "--disable-console-intercept"], {
      cwd: root,
      env: { ...process.env, ATRIUM_PAIRS: String(pairs), ATRIUM_PAIRS_SEED: String(seed) },
    });
    // Vitest removes its database after SIGINT, not after SIGTERM.
    const end = (): boolean => child.kill("SIGINT");
    process.once("exit", end);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        if (line.startsWith(PROGRESS)) log(line.slice(PROGRESS.length));
        else said.push(line);
      });
    const [code] = (await once(child, "close")) as [number | null];
    process.off("exit", end);
    return code === 0 ? [] : [`Seed ${seed}; --seed ${seed} sends the same pairs again.`, said.join("\n")];
  };
}
