import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { breaches } from "../contract/accept.ts";
import { generate, generateDocuments, readTree } from "../contract/generate.ts";
import { root, run } from "../contract/run.ts";

describe("the contract", () => {
  test("the contract passes buf lint, which requires comments on everything", () => {
    expect(run("buf", "lint")).toEqual({ ok: true, output: "" });
  });

  test("the contract is compatible with the accepted one (npm run contract:accept until the first release)", () => {
    expect(breaches()).toBe("");
  });

  test("gen/ matches the contract (npm run generate)", async () => {
    const [wanted, present] = [await generate(), readTree(join(root, "gen"))];
    const differing = [...new Set([...wanted.keys(), ...present.keys()])].filter(
      (path) => wanted.get(path) !== present.get(path),
    );
    expect(differing).toEqual([]);
  });

  test("the documents that are made from the code match it (npm run generate)", () => {
    const differing = [...generateDocuments()].filter(
      ([path, text]) => readFileSync(join(root, path), "utf8") !== text,
    );
    expect(differing.map(([path]) => path)).toEqual([]);
  });
});
