import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { root, textOf } from "./sources.ts";

/** Every hand-written document of the repository. */
export const DOCUMENTS: readonly string[] = [
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
  ...readdirSync(path.join(root, "docs")).map((file) => `docs/${file}`),
  "src/transcoding/README.md",
].filter((file) => file.endsWith(".md"));

/** A document without its fenced blocks. */
function proseOf(file: string): string {
  return textOf(file).replaceAll(/^```[^]*?^```$/gmu, "");
}

/** Targets of the Markdown links of a document, those to other sites left out. */
export function linksOf(file: string): string[] {
  return [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/gu)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/u.test(target));
}

/** Anchors of a document's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#{1,6} (.+)$/gmu)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** What is wrong with a link of a document; undefined when it leads somewhere. */
export function linkFault(file: string, target: string): string | undefined {
  const [name = "", anchor] = target.split("#");
  const to = name === "" ? file : path.posix.join(path.posix.dirname(file), name);
  if (to.startsWith("..") || !existsSync(path.join(root, to))) return `${file}: ${target} does not exist`;
  if (anchor === undefined) return undefined;
  const known = to.endsWith(".md") && anchorsOf(to).includes(anchor);
  return known ? undefined : `${file}: ${target} has no such heading`;
}

/** Paths of the repository that a document names in code spans; patterns and placeholders are left out. */
export function pathsNamedBy(file: string): string[] {
  return [...proseOf(file).matchAll(/`((?:src|test|proto|docs|fbs|gen)\/[\w./-]*)(?=[`\s])/gu)].map(
    ([, name = ""]) => name,
  );
}

/** Scripts of package.json that a document tells the reader to run. */
export function scriptsNamedBy(file: string): string[] {
  return [...textOf(file).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/gu)].map(
    ([, script, short]) => script ?? short ?? "",
  );
}

/** First cells of the table rows of a section, without the code marks. */
export function firstCellsOf(file: string, header: string): string[] {
  const [, table = ""] = textOf(file).split(`${header}\n| --- | --- |\n`);
  const rows = /^(?:\|.*\n)*/u.exec(table)?.[0].trim().split("\n") ?? [];
  return rows.map((row) => (row.split("|")[1] ?? "").trim().replaceAll("`", ""));
}

/** One row of CONTRIBUTING's table of questions. */
export interface Question {
  question: string;
  /** Files that the answer links to. */
  files: string[];
  /** Names in the answer that none of its files has. */
  unknown: string[];
}

/** The rows of CONTRIBUTING's table of questions. */
export function questions(): Question[] {
  const [, section = ""] = textOf("CONTRIBUTING.md").split("\n## Ten questions\n");
  const rows = [...section.matchAll(/^\| (?!question|---)(.+?) \| (.+) \|$/gmu)];
  return rows.map(([, question = "", answer = ""]) => {
    const files = [...answer.matchAll(/\]\(([^)#]+)\)/gu)].map(([, target = ""]) => target);
    const texts = files.map(textOf);
    const names = [...answer.matchAll(/`([\w.]+)`/gu)].map(([, name = ""]) => name);
    return { question, files, unknown: names.filter((name) => !texts.some((text) => text.includes(name))) };
  });
}
