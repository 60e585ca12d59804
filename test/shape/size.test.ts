import { expect, it } from "vitest";
import { filesBelow, textOf } from "./sources.ts";

const MOST_LINES = 400;

it(`no hand-written file has more than ${MOST_LINES} lines`, () => {
  const long = [...filesBelow("src"), ...filesBelow("test")]
    .map((file) => [file, textOf(file).split("\n").length - 1] as const)
    .filter(([, lines]) => lines > MOST_LINES);
  expect(long).toEqual([]);
});
