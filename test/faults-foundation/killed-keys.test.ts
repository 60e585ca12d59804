import { expect, it } from "vitest";
import { killedKeys } from "../faults/killed-keys.ts";

it("no write with an Idempotency-Key is lost, doubled or refused when its instance is killed", async () => {
  const lines: string[] = [];
  expect(await killedKeys(4)((line) => lines.push(line)), lines.join("\n")).toEqual([]);
});
