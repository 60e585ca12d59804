import { expect, it } from "vitest";
import { createPace } from "../../src/domains/webhooks/pace.ts";

function paced() {
  let at = 0;
  const pace = createPace(() => at);
  const free = (webhookId: string): number => pace.allowances().get(webhookId) ?? 1;
  return { pace, free, wait: (ms: number) => void (at += ms) };
}

it("an endpoint begins with one post at a time, earns more by answering and loses it by failing", () => {
  const { pace, free } = paced();
  expect(free("a")).toBe(1);
  const first = pace.begin("a");
  expect(free("a")).toBe(0);
  pace.answered(first, true);
  expect(free("a")).toBe(2);
  for (let nth = 0; nth < 40; nth++) pace.answered(pace.begin("a"), true);
  expect(free("a")).toBe(32);
  const slow = pace.begin("a");
  pace.answered(slow, false);
  pace.answered(slow, true);
  expect(free("a")).toBe(1);
});

it("an endpoint that falls silent gets one at a time beside what it keeps waiting, and four in all, until it answers", () => {
  const { pace, free, wait } = paced();
  for (let nth = 0; nth < 40; nth++) pace.answered(pace.begin("a"), true);
  const posts = [pace.begin("a")];
  expect([free("a"), pace.silent()]).toEqual([31, 0]);
  for (const more of [2, 3, 4]) {
    wait(600);
    expect([free("a"), pace.silent()]).toEqual([1, more - 1]);
    posts.push(pace.begin("a"));
    expect(free("a")).toBe(0);
  }
  wait(600);
  expect([free("a"), pace.silent()]).toEqual([0, 4]);
  expect(free("b")).toBe(1);
  pace.begin("b");
  wait(600);
  expect(free("b")).toBe(0);
  posts.forEach((post) => pace.answered(post, true));
  expect([free("a"), pace.silent()]).toEqual([32, 1]);
});

it("what endpoints have earned is kept for those heard of last", () => {
  const { pace } = paced();
  for (let nth = 0; nth < 300; nth++) pace.answered(pace.begin(`endpoint-${nth}`), true);
  const allowed = pace.allowances();
  expect(allowed.size).toBe(256);
  expect([allowed.has("endpoint-0"), allowed.get("endpoint-299")]).toEqual([false, 2]);
});
