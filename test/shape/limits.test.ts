import { expect, it } from "vitest";
import { filesBelow, textOf } from "./sources.ts";

/** Milliseconds of test/vitest.config.ts, which a test may extend: ten times and more what a busy machine takes. */
const LEAST = { test: 600_000, poll: 120_000 } as const;

const isPoll = (line: string): boolean => /\b(?:poll|waitFor\w*)\b/u.test(line);
/** Starts a statement that has a limit as its last argument. */
const isTest = (line: string): boolean => /^\s*(?:it|test|describe|before|after)\w*\b/u.test(line);

interface Limit {
  line: number;
  ms: number;
  /** Of a limit for what this one limits. */
  least: number;
}

/** Whether a slow machine may exceed a limit. */
const isShort = ({ ms, least }: Limit): boolean => ms < least;

/** Time limits of a file, in milliseconds. Numbers below 1,000 are limits of clients under test, in seconds. */
function limitsOf(code: string): Limit[] {
  const lines = code.split("\n");
  return lines.flatMap((line, at) => {
    const [, named] = /\btimeout: (\d[\d_]+)/u.exec(line) ?? [];
    const [, last] = /, (\d[\d_]+)\);$/u.exec(line) ?? [];
    const [, alone] = /^ +(\d[\d_]+),$/u.exec(line) ?? [];
    const first = openerOf(lines, at);
    const isArgument = last !== undefined && (isPoll(first) || isTest(first));
    const isLastAlone = alone !== undefined && lines[at - 1]?.trim() === "}," && lines[at + 1]?.trim() === ");";
    const found = named ?? (isArgument ? last : isLastAlone ? alone : undefined);
    const ms = Number(found?.replaceAll("_", "") ?? 0);
    const least = isPoll(line) || (isArgument && isPoll(first)) ? LEAST.poll : LEAST.test;
    return ms < 1_000 ? [] : [{ line: at + 1, ms, least }];
  });
}

/** The first line of the statement that a line ends: the formatter gives both the same indentation. */
function openerOf(lines: readonly string[], at: number): string {
  const [indentation = ""] = /^ */u.exec(lines[at] ?? "") ?? [];
  const isOpener = (line: string): boolean =>
    line.startsWith(indentation) && /\w/u.test(line[indentation.length] ?? "");
  return lines.slice(0, at + 1).findLast(isOpener) ?? "";
}

it("a limit below the common one is found in each of the usual forms", () => {
  const ms = "5_000";
  const forms = [
    `it("works", { timeout: ${ms} }, async () => {`,
    `it("works", async () => {\n  await done();\n}, ${ms});`,
    `it("works", () => done(), ${ms});`,
    `it.each([1])(\n  "works",\n  async () => {\n    await done();\n  },\n  ${ms},\n);`,
    `beforeAll(async () => {\n  await done();\n}, ${ms});`,
    `  await expect.poll(count, { timeout: ${ms} }).toBe(1);`,
    `  await vi.waitFor(() => expect(count).toBe(1), ${ms});`,
  ];
  for (const form of forms) expect(limitsOf(form).filter(isShort), form).toHaveLength(1);
  expect(limitsOf(`  const timer = setInterval(() => {\n    ask();\n  }, ${ms});`)).toEqual([]);
});

it("no test and no poll has a limit that a slow machine may exceed", () => {
  const short = filesBelow("test", [".ts"]).flatMap((file) =>
    limitsOf(textOf(file))
      .filter(isShort)
      .map(({ line, ms }) => `${file}:${line} has ${ms} ms; leave the limit to test/vitest.config.ts`),
  );
  expect(short).toEqual([]);
});
