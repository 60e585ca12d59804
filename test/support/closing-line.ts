import type { Reporter, TestModule } from "vitest/node";

/** What became of the tests of a run. */
interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts tests by their outcome; a file or a hook that breaks is a failure too, although no test of it is. */
function tally(modules: readonly TestModule[], unhandled: number): Tally {
  const count: Tally = { passed: 0, failed: unhandled, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // What never ran, because the run was stopped or a hook broke, did not pass.
      if (state === "pending") count.skipped += 1;
      else count[state] += 1;
    }
    count.failed += module.errors().length;
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
  }
  return count;
}

/** The line itself: `12 passed, 0 failed`, and what was skipped where something was. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

/** Ends a run with one plain line, the last of all, that people and machines can read. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const line = closingLine(tally(modules, unhandledErrors.length));
    // After everything that is still said on the way out.
    process.once("exit", () => process.stdout.write(`${line}\n`));
  }
}
