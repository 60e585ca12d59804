import { expect, it } from "vitest";
import { cachedRead } from "../../src/platform/metrics.ts";

it("a value is read once in ten seconds for any number of callers, and again after a failed read", async () => {
  let [at, reads, fails] = [0, 0, false];
  const read = (): Promise<number> => (fails ? Promise.reject(new Error("away")) : Promise.resolve(++reads));
  const figure = cachedRead(read, 10_000, () => at);
  expect(await Promise.all([figure(), figure(), figure()])).toEqual([1, 1, 1]);
  at = 9_999;
  expect(await figure()).toBe(1);
  at = 10_000;
  expect(await figure()).toBe(2);
  [at, fails] = [20_000, true];
  await expect(Promise.all([figure(), figure()])).rejects.toThrow("away");
  fails = false;
  expect(await figure()).toBe(3);
});
