import { expect, it } from "vitest";
import { builtLine, readmeLines, rpcStates } from "./built.ts";

it("the README says how many rpcs are built; `node test/shape/built.ts` prints the line", () => {
  expect(readmeLines()).toEqual([builtLine()]);
});

it("knows an rpc that is built from one that is not", () => {
  const states = rpcStates();
  expect(states.find(({ rpc }) => rpc.name === "Login")?.built).toBe(true);
  expect(new Set(states.map(({ rpc }) => `${rpc.parent.typeName}/${rpc.name}`)).size).toBe(states.length);
});
