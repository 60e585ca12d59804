import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { IllegalStateError } from "@temporalio/common";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { DeterminismViolationError } from "@temporalio/workflow";
import { expect, it } from "vitest";
import { workflowBundle } from "../../src/worker/bundle.ts";
import * as workflows from "../../src/worker/workflows.ts";
import { readHistory } from "./history.ts";
import type { KeptWorkflow } from "./history.ts";
import { paths } from "./paths.ts";

try {
  Runtime.install({
    logger: new DefaultLogger("ERROR", () => undefined),
    telemetryOptions: { logging: { filter: "off" } },
  });
} catch (error) {
  // Test files share processes: a worker of an earlier one has installed the runtime already.
  if (!(error instanceof IllegalStateError)) throw error;
}
const folder = join(import.meta.dirname, "histories");
const names = readdirSync(folder).map((file) => file.replace(/\.json$/u, ""));
const read = (name: string): KeptWorkflow =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as KeptWorkflow;

/** Replays every run of a recorded workflow on the current code; rejects when the commands differ. */
async function replay({ workflowId, runs }: KeptWorkflow): Promise<void> {
  for (const run of runs)
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, readHistory(run), workflowId);
}

it("every path has a recorded history, and every workflow has a path", () => {
  expect(names).toEqual(expect.arrayContaining(Object.keys(paths)));
  const recorded = new Set(
    names.flatMap((name) =>
      [...JSON.stringify(read(name)).matchAll(/"workflowType":\{"name":"(\w+)"/gu)].map(([, type]) => type),
    ),
  );
  expect(recorded).toEqual(new Set(Object.keys(workflows)));
});

it.each(names)("the history %s replays on the present workflow code", (name) => replay(read(name)));

it("replay detects workflow code that behaves differently", async () => {
  const text = JSON.stringify(read("install-done")).replaceAll("attemptInstallStep", "somethingElse");
  await expect(replay(JSON.parse(text) as KeptWorkflow)).rejects.toBeInstanceOf(DeterminismViolationError);
});
