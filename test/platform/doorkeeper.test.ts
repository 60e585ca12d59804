import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { createDoorkeeper } from "../../src/platform/doorkeeper.ts";

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

it("a doorkeeper admits what comes a second time", () => {
  const doorkeeper = createDoorkeeper(1024);
  expect([doorkeeper.admits(digestOf("one")), doorkeeper.admits(digestOf("two"))]).toEqual([false, false]);
  expect([doorkeeper.admits(digestOf("one")), doorkeeper.admits(digestOf("one"))]).toEqual([true, true]);
});

it("a doorkeeper mistakes none of 100,000 new digests for a known one, and keeps most of the latest", () => {
  const doorkeeper = createDoorkeeper(2 ** 18);
  const newcomers = Array.from({ length: 100_000 }, (_, nth) => digestOf(`token ${nth}`));
  expect(newcomers.filter((digest) => doorkeeper.admits(digest)).length).toBeLessThan(10);
  expect(newcomers.slice(-10_000).filter((digest) => doorkeeper.admits(digest)).length).toBeGreaterThan(9_000);
});
