import type { Scenario } from "./scenario.ts";
import { runTestFile } from "./test-file.ts";

/** The check of test/lists of every plan, over this many rows of every table that a list reads. */
export function plansOfLists(rows: number): Scenario {
  return async (log) => {
    const said: string[] = [];
    const since = Date.now();
    const passed = await runTestFile("test/lists/plans.test.ts", { ATRIUM_TEST_ROWS: String(rows) }, (line) =>
      said.push(line),
    );
    log(`${rows} rows of each table; made and looked at in ${Math.round((Date.now() - since) / 1_000)} s`);
    return passed ? [] : [said.join("\n")];
  };
}
