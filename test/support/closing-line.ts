import type { Reporter, TestModule } from "vitest/node";

/** Outcomes of the tests of a run. */
interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts tests by outcome; a file or a hook that fails is a failure too, although none of its tests is. */
function tally(modules: readonly TestModule[], unhandled: number): Tally {
  const count: Tally = { passed: 0, failed: unhandled, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test that never ran, because the run was stopped or a hook failed, did not pass.
      if (state === "pending") count.skipped += 1;
      else count[state] += 1;
    }
    count.failed += module.errors().length;
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
  }
  return count;
}

/** The line itself: `12 passed, 0 failed`, and what was skipped where something was. */
function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

/** A line for each test that failed and then passed when it was repeated. */
function flakes(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()]
      .filter((test) => test.diagnostic()?.flaky === true)
      .map((test) => `flake: ${module.relativeModuleId} > ${test.fullName}`),
  );
}

/** Ends a run with a line for each flake, and one plain line that people and machines can read. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const line = closingLine(tally(modules, unhandledErrors.length));
    // After all other output.
    const lines = [...flakes(modules), line];
    process.once("exit", () => process.stdout.write(`${lines.join("\n")}\n`));
  }
}
