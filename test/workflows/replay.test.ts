import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { IllegalStateError } from "@temporalio/common";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import type { ReplayResult } from "@temporalio/worker";
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

/** Replays every run of recorded workflows on the current code, and returns those whose commands differ. */
async function replay(kept: KeptWorkflow[]): Promise<Pick<ReplayResult, "workflowId" | "error">[]> {
  const histories = kept.flatMap(({ workflowId, runs }) =>
    runs.map((run) => ({ workflowId, history: readHistory(run) })),
  );
  const faults: Awaited<ReturnType<typeof replay>> = [];
  let replayed = 0;
  // One worker for all: to start one takes longer than to replay a history.
  const results = Worker.runReplayHistories({ workflowBundle: await workflowBundle() }, histories);
  for await (const { workflowId, error } of results) {
    replayed++;
    if (error !== undefined) faults.push({ workflowId, error });
  }
  expect(replayed).toBe(histories.length);
  return faults;
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

it("every recorded history replays on the present workflow code", async () => {
  expect(await replay(names.map(read))).toEqual([]);
});

it("replay detects workflow code that behaves differently", async () => {
  const text = JSON.stringify(read("install-done")).replaceAll("attemptInstallStep", "somethingElse");
  const changed = JSON.parse(text) as KeptWorkflow;
  expect(await replay([read("install-done"), changed, read("install-done")])).toEqual([
    { workflowId: changed.workflowId, error: expect.any(DeterminismViolationError) },
  ]);
});
