import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createOutbox } from "../../src/platform/db/index.ts";
import type { OpenDatabase, Outbox, OutboxMessage } from "../../src/platform/db/index.ts";
import { testClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";

const clock = testClock();
let database: OpenDatabase;
let outbox: Outbox;
let topic: string;
let count = 0;
beforeAll(async () => {
  database = await openTestDatabase({ clock });
  outbox = createOutbox({ database, clock });
});
afterAll(() => database.close());
beforeEach(async () => {
  topic = `topic-${count++}`;
  await database.transaction((tx) => tx.query("delete from outbox"));
});
const emit = (...messages: Partial<OutboxMessage>[]) =>
  database.transaction(async (tx) => {
    for (const message of messages) await tx.emit({ topic, payload: {}, ...message });
  });
const later = (ms: number) => new Date(clock.now() + ms);

test("several dispatchers at once claim each row once", async () => {
  await emit(...Array.from({ length: 100 }, (_, n) => ({ payload: { n } })));
  const claimed = await Promise.all(Array.from({ length: 8 }, () => outbox.claimDue(30, 60_000, topic)));
  expect(
    claimed
      .flat()
      .map((row) => row.payload["n"])
      .toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual(Array.from({ length: 100 }, (_, n) => n));
  await outbox.complete(claimed.flat().map((row) => row.id));
  expect(await outbox.counts()).toEqual([]);
});

test("a claim returns due rows of the requested topics, oldest first", async () => {
  await emit(
    { payload: { n: 2 }, availableAt: later(-500) },
    { payload: { n: 1 }, availableAt: later(-1_000) },
    { availableAt: later(5_000) },
    { topic: "other" },
  );
  expect((await outbox.claimDue(1, 60_000, topic)).map((row) => row.payload)).toEqual([{ n: 1 }]);
  expect((await outbox.claimDue(9, 60_000, topic)).map((row) => row.payload)).toEqual([{ n: 2 }]);
  expect(await outbox.claimDue(9, 60_000, topic)).toEqual([]);
  clock.advance(5_000);
  expect(await outbox.claimDue(9, 60_000, topic)).toHaveLength(1);
});

test("a claimed row becomes available again when its dispatcher dies, unless the lease is extended", async () => {
  await emit({}, {});
  const [first, second] = await outbox.claimDue(2, 60_000, topic);
  clock.advance(59_000);
  await outbox.extend([second!.id], 60_000);
  clock.advance(2_000);
  const again = await outbox.claimDue(2, 60_000, topic);
  expect(again).toEqual([{ ...first!, attempts: 2 }]);
});

test("failing rows are retried until they expire", async () => {
  await emit({ expiresAt: later(10_000) });
  const [row] = await outbox.claimDue(1, 60_000, topic);
  expect(row).toMatchObject({ topic, attempts: 1, createdAt: new Date(clock.now()), expiresAt: later(10_000) });
  expect(await outbox.fail([row!.id], "no luck", 1_000)).toBe(0);
  expect(await outbox.counts()).toEqual([{ topic, rows: 1, failing: 1, failingMs: 0, lastError: "no luck" }]);
  clock.advance(999);
  expect(await outbox.claimDue(1, 60_000, topic)).toEqual([]);
  clock.advance(501);
  expect(await outbox.oldestAge()).toBe(1_500);
  const [again] = await outbox.claimDue(1, 60_000, topic);
  expect(again!.attempts).toBe(2);
  expect(await outbox.fail([again!.id], "no luck", 60_000)).toBe(1);
  expect(await outbox.counts()).toEqual([]);
  expect(await outbox.oldestAge()).toBe(0);
});

test("the age of a row that fails counts from its beginning, while each attempt makes it due later", async () => {
  await emit({});
  clock.advance(700);
  expect(await outbox.oldestAge()).toBe(700);
  for (let attempt = 0; attempt < 3; attempt++) {
    const [row] = await outbox.claimDue(1, 60_000, topic);
    await outbox.fail([row!.id], "no luck", 30_000);
    clock.advance(30_000);
  }
  expect(await outbox.oldestAge()).toBe(90_700);
  expect(await outbox.counts()).toMatchObject([{ failing: 1, failingMs: 90_700 }]);
});

test("a failing row moves to another topic, so that it is not claimed before new ones", async () => {
  await emit({ payload: { n: 1 } });
  const [row] = await outbox.claimDue(1, 60_000, topic);
  await outbox.fail([row!.id], "no luck", 0, `${topic}.retry`);
  await emit({ payload: { n: 2 } });
  expect((await outbox.claimDue(9, 60_000, topic)).map(({ payload }) => payload)).toEqual([{ n: 2 }]);
  expect(await outbox.claimDue(9, 60_000, `${topic}.retry`)).toMatchObject([{ payload: { n: 1 }, attempts: 2 }]);
});

test("expired rows that nobody claimed are dropped and logged", async () => {
  await emit({ expiresAt: later(10_000) }, { expiresAt: later(20_000) });
  clock.advance(10_001);
  const dropped = await outbox.dropExpired();
  expect(dropped).toMatchObject([{ topic, attempts: 0, lastError: null }]);
  expect(await outbox.claimDue(9, 60_000, topic)).toHaveLength(1);
});
