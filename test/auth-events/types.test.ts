import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { administrativeEventTypes, authEventTypes } from "../../src/domains/event-catalogue/index.ts";

const contract = readFileSync(
  new URL("../../proto/atrium/auth_events/v1/auth_events.proto", import.meta.url),
  "utf8",
).replaceAll(/\n\s*\/\/ ?/gu, " ");

/** Types in back-quotes after some words, `a.b|c` standing for `a.b` and `a.c`. */
function listed(after: string): string[] {
  const text = contract.slice(contract.indexOf(after) + after.length).split("string type")[0] ?? "";
  return [...text.matchAll(/`([a-z_.|]+\.[a-z_.|]+)`/gu)].flatMap(([, names = ""]) => {
    const [first = "", ...others] = names.split("|");
    return [first, ...others.map((other) => `${first.slice(0, first.lastIndexOf(".") + 1)}${other}`)];
  });
}

it("the contract lists the types of both logs", () => {
  expect(listed("One of")).toEqual([...authEventTypes]);
  expect(listed("or an administrative one:")).toEqual([...administrativeEventTypes]);
});
