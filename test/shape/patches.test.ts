import { expect, it } from "vitest";
import { codeOf, filesBelow, textOf } from "./sources.ts";

const { dependencies } = JSON.parse(textOf("package.json")) as { dependencies: Readonly<Record<string, string>> };

const files = filesBelow("src");
const patches = files.filter((file) => file.includes("/patches/"));

/** Code that depends on internals of a package. */
const INTERNALS: readonly RegExp[] = [
  /_httpMessage/u,
  /\b_read\b/u,
  /\.push = /u,
  /\.destroySoon = /u,
  /emit\("(?:listening|stream)"/u,
  /connection\.stream/u,
  /\.abort = /u,
  /extends \w+Driver\b/u,
];

it("every patch names its package, the pinned version it was written for and the upstream issue or behaviour", () => {
  expect(patches.length).toBeGreaterThan(0);
  for (const file of patches) {
    const header = /^\/\*\*\n[^]*?\*\//u.exec(textOf(file))?.[0] ?? "";
    const [, name = "", version] = /@patches (\S+) (\S+)\n/u.exec(header) ?? [];
    expect(version, `${file}: version of ${name}`).toBe(dependencies[name]);
    expect(header, file).toMatch(/@upstream (?:https:\/\/|none: )\S/u);
  }
});

it("known internals of packages are used in patches only", () => {
  const others = files.filter((file) => !patches.includes(file));
  expect(others.filter((file) => INTERNALS.some((internal) => internal.test(codeOf(file))))).toEqual([]);
});
