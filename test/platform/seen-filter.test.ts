import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { createSeenFilter } from "../../src/platform/seen-filter.ts";

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

it("a seen filter admits what comes a second time", () => {
  const filter = createSeenFilter(1024);
  expect([filter.seenBefore(digestOf("one")), filter.seenBefore(digestOf("two"))]).toEqual([false, false]);
  expect([filter.seenBefore(digestOf("one")), filter.seenBefore(digestOf("one"))]).toEqual([true, true]);
});

it("a seen filter mistakes none of 100,000 new digests for a known one, and keeps most of the latest", () => {
  const filter = createSeenFilter(2 ** 18);
  const newcomers = Array.from({ length: 100_000 }, (_, nth) => digestOf(`token ${nth}`));
  expect(newcomers.filter((digest) => filter.seenBefore(digest)).length).toBeLessThan(10);
  expect(newcomers.slice(-10_000).filter((digest) => filter.seenBefore(digest)).length).toBeGreaterThan(9_000);
});
