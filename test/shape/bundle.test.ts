import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode } from "@temporalio/worker";
import { expect, it } from "vitest";
import { workflowBundle } from "../../src/worker/bundle.ts";
import { filesBelow, textOf } from "./sources.ts";

const entry = "src/worker/workflows.ts";

it("the entry of the workflows re-exports every workflow and does nothing else", () => {
  const code = textOf(entry)
    .replaceAll(/^\/\/.*$/gmu, "")
    .trim()
    .split("\n");
  for (const line of code)
    expect(line).toMatch(/^export \{ \w+(?:, \w+)* \} from "\.\.\/domains\/[a-z-]+\/workflows\/[a-z-]+\.ts";$/u);
  for (const file of filesBelow("src/domains").filter((name) => name.includes("/workflows/")))
    expect(textOf(entry)).toContain(file.slice("src/".length));
});

it("the workflows bundle, and the bundle is kept ahead of the first worker", async () => {
  const problems: string[] = [];
  const say = (message: string): void => void problems.push(message);
  const nothing = (): void => undefined;
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(`../../${entry}`, import.meta.url)),
    logger: { log: nothing, trace: nothing, debug: nothing, info: nothing, warn: say, error: say },
  });
  expect(problems).toEqual([]);
  expect(code).toContain("driveInstall");
  expect(await readFile(((await workflowBundle()) as { codePath: string }).codePath, "utf8")).toContain("driveInstall");
});
