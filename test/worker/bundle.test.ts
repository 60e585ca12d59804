import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { workflowBundle } from "../../src/worker/bundle.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "atrium-bundle-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("a stored bundle is used unchanged, and replaces bundles of other sources", async () => {
  writeFileSync(join(folder, "workflows-0123456789abcdef.js"), "of other sources");
  const kept = await workflowBundle(folder);
  expect(readdirSync(folder)).toHaveLength(1);
  const [name = ""] = readdirSync(folder);
  expect(kept).toEqual({ codePath: join(folder, name) });
  expect(readFileSync(join(folder, name), "utf8")).toContain("driveInstall");
  // A bundle made again would be complete.
  writeFileSync(join(folder, name), "kept");
  expect(await workflowBundle(folder)).toEqual(kept);
  expect(readFileSync(join(folder, name), "utf8")).toBe("kept");
});

it("a bundle that cannot be stored stays in memory", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const bundle = await workflowBundle(join(file, "below"));
  expect(bundle).not.toHaveProperty("codePath");
  expect((bundle as { code: string }).code).toContain("driveInstall");
});
