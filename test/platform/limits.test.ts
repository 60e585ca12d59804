import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { createLimiter } from "../../src/platform/limits/index.ts";
import type { Budget } from "../../src/platform/limits/index.ts";
import { testClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const start = Date.parse("2030-01-01T00:00:00Z");
const clock = testClock(start);
const mail: Budget = { name: "mail", limit: 3, windowMs: 600_000, sliding: false };
const general: Budget = { name: "general", limit: 600, windowMs: 60_000, sliding: false };
const quick: Budget = { name: "quick", limit: 1, windowMs: 200, sliding: false };
const audit: Budget = { name: "audit", limit: 60, windowMs: 60_000, sliding: true };

let database: OpenDatabase & { url: string };
let asked = 0;
const counting = {
  prepared: ((...args: Parameters<OpenDatabase["prepared"]>) => (
    asked++, database.prepared(...args)
  )) as OpenDatabase["prepared"],
};
const instance = () => createLimiter({ database: counting, clock });
beforeAll(async () => {
  database = await openTestDatabase({ clock });
});
afterAll(() => database.close());
beforeEach(() => {
  asked = 0;
  clock.advance(86_400_000);
});

describe("Token buckets", () => {
  test("a small bucket is exact, over two instances at once", async () => {
    const [one, two] = [instance(), instance()];
    const waits = await Promise.all(
      Array.from({ length: 20 }, (_, n) => Promise.resolve((n % 2 === 0 ? one : two).take(mail, "ann"))),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(3);
    for (const wait of waits.filter((one) => one > 0)) expect(wait).toBe(200_000);
    expect(await one.take(mail, "ben")).toBe(0);
    clock.advance(199_999);
    expect(await two.take(mail, "ann")).toBe(1);
    clock.advance(1);
    expect(await one.take(mail, "ann")).toBe(0);
    expect(await two.take(mail, "ann")).toBeGreaterThan(0);
  });

  test("a large bucket needs few statements, and two instances together stay within it", async () => {
    const [one, two] = [instance(), instance()];
    let allowed = 0;
    for (let call = 0; call < 700; call++)
      if ((await (call % 2 === 0 ? one : two).take(general, "ann")) === 0) allowed++;
    expect(allowed).toBeLessThanOrEqual(600);
    expect(allowed).toBeGreaterThan(580);
    expect(asked).toBeLessThan(80);
    clock.advance(60_000);
    allowed = 0;
    for (let call = 0; call < 620; call++) if ((await one.take(general, "ann")) === 0) allowed++;
    expect(allowed).toBe(600);
  });

  test("a slow caller is not charged for leases", async () => {
    const one = instance();
    for (let call = 0; call < 900; call++) {
      expect(await one.take(general, "slow"), `call ${call}`).toBe(0);
      clock.advance(150);
    }
  });

  test("a refused caller causes no statement", async () => {
    const one = instance();
    for (let call = 0; call < 4; call++) await one.take(mail, "flood");
    asked = 0;
    for (let call = 0; call < 1000; call++) expect(await one.take(mail, "flood")).toBeGreaterThan(0);
    expect(asked).toBe(0);
  });
});

describe("Sliding windows", () => {
  test("a window admits 60 in any 60 s, over two instances", async () => {
    const [one, two] = [instance(), instance()];
    const waits = await Promise.all(
      Array.from({ length: 50 }, (_, n) => Promise.resolve((n % 2 === 0 ? one : two).take(audit, "ann"))),
    );
    expect(waits.every((wait) => wait === 0)).toBe(true);
    clock.advance(30_000);
    const more = await Promise.all(
      Array.from({ length: 20 }, (_, n) => Promise.resolve((n % 2 === 0 ? one : two).take(audit, "ann"))),
    );
    expect(more.filter((wait) => wait === 0)).toHaveLength(10);
    expect(Math.max(...more)).toBe(30_000);
    clock.advance(29_999);
    expect(await one.take(audit, "ann")).toBe(1);
    clock.advance(1);
    const later = await Promise.all(Array.from({ length: 55 }, () => Promise.resolve(two.take(audit, "ann"))));
    expect(later.filter((wait) => wait === 0)).toHaveLength(50);
  });
});

describe("Clocks of instances", () => {
  const ahead = { now: () => Date.now() + 6 * 3_600_000, isMachine: true };
  const wrong = (): ReturnType<typeof createLimiter> => createLimiter({ database, clock: ahead });
  const right = (): ReturnType<typeof createLimiter> => createLimiter({ database, clock: systemClock });

  test("a clock that is ahead moves no limit of the other instances", async () => {
    for (const budget of [mail, audit]) {
      const first = await wrong().take(budget, "clocks");
      expect([first, await right().take(budget, "clocks")]).toEqual([0, 0]);
    }
    expect(await wrong().take(quick, "clocks")).toBe(0);
    await expect.poll(() => right().take(quick, "clocks")).toBe(0);
    const rule = { name: "delay", tolerated: 1, firstMs: 1_000, mostMs: 60_000, forgetMs: 3_600_000 };
    for (let failure = 0; failure < 2; failure++) await (await wrong().delays.begin(rule, "clocks")).failed();
    expect((await right().delays.begin(rule, "clocks")).waitMs).toBeLessThanOrEqual(2_000);
    expect(await right().take(mail, "clocks")).toBe(0);
    await wrong().purge();
    expect(await right().take(mail, "clocks")).toBeGreaterThan(0);
  });

  test("times that a clock has left in the far future hold nobody back", async () => {
    expect(await right().take(quick, "future")).toBe(0);
    for (let call = 0; call < audit.limit; call++) expect(await right().take(audit, "future")).toBe(0);
    const shift = 6 * 3_600_000;
    await runSql(database.url, "update rate_buckets set at_ms = at_ms + $1, full_ms = full_ms + $1", [shift]);
    await runSql(
      database.url,
      "update rate_windows set empty_ms = empty_ms + $1, hits = array(select hit + $1::bigint from unnest(hits) hit)",
      [shift],
    );
    expect(await right().take(audit, "future")).toBe(0);
    await expect.poll(() => right().take(quick, "future")).toBe(0);
  });
});

test("expired rows of limits are removed", async () => {
  const one = instance();
  await one.purge();
  await Promise.all([one.take(mail, "x"), one.take(audit, "x")]);
  expect(await one.purge()).toBe(0);
  clock.advance(600_001);
  expect(await one.purge()).toBe(2);
});
