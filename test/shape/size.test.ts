import { expect, it } from "vitest";
import { filesBelow, SOURCES, textOf } from "./sources.ts";

/** Most lines of a hand-written file. */
const MOST_LINES = 300;

it.each(["src", "test"])(`no hand-written file of %s has more than ${MOST_LINES} lines`, (folder) => {
  const long = filesBelow(folder, [...SOURCES, ".py", ".go"])
    .map((file) => [file, textOf(file).split("\n").length - 1] as const)
    .filter(([, lines]) => lines > MOST_LINES);
  expect(long).toEqual([]);
});
