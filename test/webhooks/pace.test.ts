import { expect, it } from "vitest";
import { createPace } from "../../src/domains/webhooks/pace.ts";

function paced() {
  let at = 0;
  const pace = createPace(() => at);
  const free = (webhookId: string): number => pace.shares(0).endpoints.get(webhookId)?.free ?? 1;
  const isQuick = (webhookId: string): boolean => pace.shares(0).endpoints.get(webhookId)?.isQuick ?? false;
  const begin = (webhookId: string, orgUuid = "o", host = "h") => pace.begin({ webhookId, orgUuid, host });
  return { pace, free, isQuick, begin, wait: (ms: number) => void (at += ms) };
}

it("an endpoint begins with one concurrent post, gets more with every success and one again after a failure", () => {
  const { pace, free, begin } = paced();
  expect(free("a")).toBe(1);
  const first = begin("a");
  expect(free("a")).toBe(0);
  pace.end(first, true);
  expect(free("a")).toBe(2);
  for (let nth = 0; nth < 40; nth++) pace.end(begin("a"), true);
  expect(free("a")).toBe(32);
  const slow = begin("a");
  pace.end(slow, false);
  pace.end(slow, true);
  expect(free("a")).toBe(1);
});

it("a silent endpoint gets one post beside those it has not responded to, and at most four, until it responds", () => {
  const { pace, free, begin, wait } = paced();
  for (let nth = 0; nth < 40; nth++) pace.end(begin("a"), true);
  const posts = [begin("a")];
  expect([free("a"), pace.counts().silent]).toEqual([31, 0]);
  for (const more of [2, 3, 4]) {
    wait(600);
    expect([free("a"), pace.counts().silent]).toEqual([1, more - 1]);
    posts.push(begin("a"));
    expect(free("a")).toBe(0);
  }
  wait(600);
  expect([free("a"), pace.counts().silent]).toEqual([0, 4]);
  expect(free("b")).toBe(1);
  begin("b");
  wait(600);
  expect(free("b")).toBe(0);
  posts.forEach((post) => pace.end(post, true));
  expect([free("a"), pace.counts().silent]).toEqual([32, 1]);
});

it("an endpoint is quick while it responds within half a second and no post is waiting longer", () => {
  const { pace, isQuick, begin, wait } = paced();
  expect(isQuick("a")).toBe(false);
  const slow = begin("a");
  wait(600);
  pace.end(slow, true);
  expect(isQuick("a")).toBe(false);
  pace.end(begin("a"), true);
  expect(isQuick("a")).toBe(true);
  begin("a");
  expect(isQuick("a")).toBe(true);
  wait(600);
  expect(isQuick("a")).toBe(false);
});

it("places are counted by organization and host, and some are reserved for quick endpoints", () => {
  const { pace, begin, wait } = paced();
  pace.end(begin("quick"), true);
  expect(pace.shares(0).free).toEqual({ quick: 1_000, other: 744, active: 256 });
  for (let nth = 0; nth < 100; nth++) begin(`slow-${nth}`, "slow", nth % 2 === 0 ? "even" : "odd");
  begin("quick", "good", "good");
  const { organizations, hosts, free } = pace.shares(3);
  expect(organizations.get("slow")).toEqual({ all: 100, active: 100 });
  expect(hosts.get("even")).toEqual({ all: 50, active: 50 });
  expect(free).toEqual({ quick: 896, other: 641, active: 152 });
  wait(600);
  expect(pace.shares(0).organizations.get("slow")).toEqual({ all: 100, active: 0 });
  expect(pace.shares(0).free).toEqual({ quick: 899, other: 643, active: 256 });
});

it("the pace of the most recently used endpoints is kept", () => {
  const { pace, begin } = paced();
  for (let nth = 0; nth < 600; nth++) pace.end(begin(`endpoint-${nth}`), true);
  const { endpoints } = pace.shares(0);
  expect(endpoints.size).toBe(512);
  expect([endpoints.has("endpoint-0"), endpoints.get("endpoint-599")?.free]).toEqual([false, 2]);
});
