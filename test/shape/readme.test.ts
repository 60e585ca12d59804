import { expect, it } from "vitest";
import { builtLine, readme, readmeLines, rpcStates, unbuiltTable } from "./built.ts";

it("the README says how many rpcs are built; `node test/shape/built.ts` prints the line", () => {
  expect(readmeLines()).toEqual([builtLine()]);
});

it("the README names every rpc that is not built, and no other", () => {
  expect(readme()).toContain(`${builtLine()}\n\n${unbuiltTable()}\n\n`);
});

it("knows an rpc that is built from one that is not", () => {
  const states = rpcStates();
  expect(states.find(({ rpc }) => rpc.name === "Login")?.built).toBe(true);
  expect(new Set(states.map(({ rpc }) => `${rpc.parent.typeName}/${rpc.name}`)).size).toBe(states.length);
});
