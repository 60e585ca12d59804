import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { DOMAINS } from "../../src/domains/order.ts";
import { DOCUMENTS, firstCellsOf, linkFault, linksOf, pathsNamedBy, questions, scriptsNamedBy } from "./documents.ts";
import { root, textOf } from "./sources.ts";

const scripts = (JSON.parse(textOf("package.json")) as { scripts: Record<string, string> }).scripts;

describe.each(DOCUMENTS)("the document %s", (file) => {
  it("links to files and headings that exist", () => {
    expect(linksOf(file).flatMap((target) => linkFault(file, target) ?? [])).toEqual([]);
  });

  it("names files and folders that exist", () => {
    expect(pathsNamedBy(file).filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
  });

  it("names npm scripts that package.json has", () => {
    expect(scriptsNamedBy(file).filter((name) => !(name in scripts))).toEqual([]);
  });
});

it("every document in docs/ is linked from README.md and from docs/README.md", () => {
  const documents = DOCUMENTS.filter((file) => file.startsWith("docs/") && file !== "docs/README.md");
  expect(documents.length).toBeGreaterThan(1);
  const [fromReadme, fromIndex] = [linksOf("README.md"), linksOf("docs/README.md")];
  expect(documents.filter((file) => !fromReadme.includes(file))).toEqual([]);
  expect(documents.filter((file) => !fromIndex.includes(path.posix.basename(file)))).toEqual([]);
});

it("the README's table of domains has a row for every domain of src/domains/order.ts, in that order", () => {
  expect(firstCellsOf("README.md", "| domain | what it is |")).toEqual([...DOMAINS.names]);
});

it("the README's map names every folder of src/, and no other", () => {
  const [, map = ""] = textOf("README.md").split("\nsrc/\n");
  const lines = /^(?: {2}.*\n)*/u.exec(map)?.[0].split("\n") ?? [];
  const named = lines.flatMap((line) => /^ {2}([\w.-]+)\/? /u.exec(line)?.[1] ?? []);
  expect(named.toSorted()).toEqual(readdirSync(path.join(root, "src")).toSorted());
});

it("CONTRIBUTING.md answers ten questions, each by at most two files that have the names in the answer", () => {
  expect(questions()).toHaveLength(10);
  expect(questions().filter(({ files }) => files.length === 0 || files.length > 2)).toEqual([]);
  expect(questions().filter(({ unknown }) => unknown.length > 0)).toEqual([]);
});

it("the checks find a missing file, a missing heading and a link out of the repository", () => {
  expect(linkFault("README.md", "docs/nothing.md")).toBeDefined();
  expect(linkFault("README.md", "docs/operations.md#nothing")).toBeDefined();
  expect(linkFault("docs/README.md", "../../elsewhere")).toBeDefined();
  expect(linkFault("README.md", "docs/operations.md#a-lost-password")).toBeUndefined();
  expect(linkFault("docs/README.md", "../README.md#two-commands")).toBeUndefined();
});
