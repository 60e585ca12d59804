import { expect, it } from "vitest";
import { filesBelow, SOURCES, textOf } from "./sources.ts";

/** Most lines of a hand-written file, by where it is. */
const MOST_LINES = { src: 300, test: 400 };

it.each(Object.entries(MOST_LINES))("no hand-written file of %s has more than %i lines", (folder, most) => {
  const long = filesBelow(folder, [...SOURCES, ".py", ".go"])
    .map((file) => [file, textOf(file).split("\n").length - 1] as const)
    .filter(([, lines]) => lines > most);
  expect(long).toEqual([]);
});
