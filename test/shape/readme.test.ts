import { expect, it } from "vitest";
import { builtLine, readmeLines, rpcStates, unbuiltTable } from "./built.ts";
import { textOf } from "./sources.ts";

it("the README says how many rpcs are built; `node test/shape/built.ts` prints the line", () => {
  expect(readmeLines()).toEqual([builtLine()]);
});

it("the README names every rpc that is not built, and no other", () => {
  expect(textOf("README.md")).toContain(`${builtLine()}\n${unbuiltTable() && `\n${unbuiltTable()}\n`}`);
});

it("the check tells an rpc that is built from one that is not", () => {
  const states = rpcStates();
  expect(states.find(({ rpc }) => rpc.name === "Login")?.built).toBe(true);
  expect(new Set(states.map(({ rpc }) => `${rpc.parent.typeName}/${rpc.name}`)).size).toBe(states.length);
});
