import { randomInt } from "node:crypto";
import type { Scenario } from "./scenario.ts";
import { runTestFile } from "./test-file.ts";

/** Starts the lines of test/matrix/pairs.test.ts that are meant for whoever waits. */
const PROGRESS = "pairs: ";

/** The check of test/matrix of every two writes at once, or of the first `pairs` of them in the order of a seed. */
export function pairsOfWrites(pairs = Number.MAX_SAFE_INTEGER, seed = randomInt(2 ** 32)): Scenario {
  return async (log) => {
    const said: string[] = [];
    const env = { ATRIUM_PAIRS: String(pairs), ATRIUM_PAIRS_SEED: String(seed) };
    const passed = await runTestFile("test/matrix/pairs.test.ts", env, (line) => {
      if (line.startsWith(PROGRESS)) log(line.slice(PROGRESS.length));
      else said.push(line);
    });
    return passed ? [] : [`Seed ${seed}; --seed ${seed} sends the same pairs again.`, said.join("\n")];
  };
}
