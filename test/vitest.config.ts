import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { ClosingLine } from "./support/closing-line.ts";
import { LongestFirst } from "./support/longest-first.ts";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    reporters: ["default", new ClosingLine()],
    pool: "forks",
    // Files share their worker's modules, which no test changes: to load the service takes longer than most files.
    isolate: false,
    // Two more than there are cores: much of it is waiting.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Continuous integration repeats what failed once, and the closing lines name each such test as a flake.
    retry: Number(process.env["TEST_RETRIES"] ?? 0),
    // Ten times and more what a slow, busy machine takes: these end what hangs, and nothing else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
