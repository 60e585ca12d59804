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
    // Files share their worker's modules, which no test changes: loading the service anew for each of them takes longer than most.
    isolate: false,
    // One more than there are cores: much of it is waiting.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    // A shared machine may starve a process for seconds; what fails twice is broken.
    retry: process.env["CI"] === undefined ? 0 : 1,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
