import { expect, it } from "vitest";
import { DOCUMENTS } from "./documents.ts";
import { filesBelow, SOURCES, textOf } from "./sources.ts";

const MAX_COLUMNS = 120;

/** Areas where no line is longer. Add an area as soon as it has none; the list ends when it says `src` and `test`. */
const AREAS: readonly string[] = [
  "src/app",
  "src/cli",
  "src/clients",
  "src/console",
  "src/domains",
  "src/launch",
  "src/migrations",
  "src/platform",
  "src/transcoding",
  "src/worker",
  "test/access",
  "test/bench",
  "test/clients",
  "test/console",
  "test/contract",
  "test/deadlines",
  "test/demo",
  "test/faults",
  "test/faults-foundation",
  "test/fuzz",
  "test/life",
  "test/lists",
  "test/main-job",
  "test/matrix",
  "test/observation",
  "test/outgoing",
  "test/platform",
  "test/platform-crypto",
  "test/rbac",
  "test/server",
  "test/shape",
  "test/support",
  "test/transcoding",
  "test/two-instances",
  "test/users",
  "test/wire",
  "test/worker",
  "test/workflows",
];

/** A long URL and a table row of Markdown cannot be wrapped. */
function mayBeLong(file: string, line: string): boolean {
  return /https?:\/\/\S{60,}/u.test(line) || (file.endsWith(".md") && line.startsWith("|"));
}

function longLinesOf(file: string): string[] {
  return textOf(file)
    .split("\n")
    .flatMap((line, at) => (line.length > MAX_COLUMNS && !mayBeLong(file, line) ? [`${file}:${at + 1}`] : []));
}

it.each(AREAS)(`no hand-written line in %s has more than ${MAX_COLUMNS} columns, except URLs`, (area) => {
  expect(filesBelow(area, [...SOURCES, ".py", ".go"]).flatMap(longLinesOf)).toEqual([]);
});

it(`no line of a document has more than ${MAX_COLUMNS} columns, except URLs and table rows`, () => {
  expect(DOCUMENTS.flatMap(longLinesOf)).toEqual([]);
});
