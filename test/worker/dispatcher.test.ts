import { expect, it, vi } from "vitest";
import { MAX_EXPIRED_BATCH } from "../../src/platform/db/index.ts";
import type { ExpiredRow, Outbox, OutboxRow } from "../../src/platform/db/index.ts";
import type { TopicHandler } from "../../src/platform/topics.ts";
import { createDispatcher } from "../../src/worker/dispatcher.ts";
import type { Dispatcher } from "../../src/worker/dispatcher.ts";
import { pollerDeps } from "../support/pollers.ts";

/** An outbox in memory with `count` rows for `endpoints` endpoints in turn. */
function heldBack(count: number, endpoints: number) {
  const waiting = Array.from(
    { length: count },
    (_, at): OutboxRow => ({
      id: String(at),
      topic: "t",
      payload: { about: at % endpoints },
      attempts: 1,
      createdAt: new Date(0),
      expiresAt: null,
      traceparent: null,
    }),
  );
  const completed: string[] = [];
  const failed: string[] = [];
  const outbox: Outbox = {
    claimDue: (limit) => Promise.resolve(waiting.splice(0, limit)),
    extend: () => Promise.resolve(),
    complete: (ids) => Promise.resolve(void completed.push(...ids)),
    fail: (ids) => Promise.resolve(void failed.push(...ids)).then(() => 0),
    dropExpired: () => Promise.resolve([]),
    oldestAge: () => Promise.resolve(0),
    counts: () => Promise.resolve([]),
  };
  return { outbox, completed, failed };
}

const start = (dispatcher: Dispatcher): void => dispatcher.pollers.forEach((poller) => poller.start());
const drain = (dispatcher: Dispatcher, graceMs: number): Promise<boolean[]> =>
  Promise.all(dispatcher.pollers.map((poller) => poller.drain(graceMs)));

async function dispatched(outbox: Outbox, handler: TopicHandler, done: () => boolean): Promise<void> {
  const dispatcher = createDispatcher({ ...pollerDeps, outbox, topics: { t: handler } });
  start(dispatcher);
  await expect.poll(done, { interval: 5 }).toBe(true);
  await drain(dispatcher, 1_000);
}

const coalescingKey = (payload: Record<string, unknown>): string => String(payload["about"]);

it("messages with the same coalescing key are handled once, within the topic's concurrency", async () => {
  const { outbox, completed } = heldBack(2_500, 50);
  let [handled, running, most] = [0, 0, 0];
  const handle = async (): Promise<void> => {
    handled++;
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
  };
  await dispatched(outbox, { handle, retry: [10], concurrency: 4, coalescingKey }, () => completed.length === 2_500);
  expect(new Set(completed).size).toBe(2_500);
  expect(handled).toBe(150);
  expect(most).toBe(4);
});

it("messages without a coalescing key are handled one by one", async () => {
  const { outbox, completed } = heldBack(40, 2);
  let handled = 0;
  await dispatched(
    outbox,
    { handle: () => Promise.resolve(void handled++), retry: [10], concurrency: 4 },
    () => completed.length === 40,
  );
  expect(handled).toBe(40);
});

it("a failed message releases all messages with its coalescing key", async () => {
  const { outbox, completed, failed } = heldBack(10, 1);
  await dispatched(
    outbox,
    { handle: () => Promise.reject(new Error("away")), retry: [10], concurrency: 4, coalescingKey },
    () => failed.length === 10,
  );
  expect(completed).toEqual([]);
});

it("a topic whose messages all fail pauses between claims and continues at once after the first success", async () => {
  vi.useFakeTimers();
  try {
    const { outbox, completed, failed } = heldBack(10_000, 10_000);
    let isAway = true;
    const handle = (): Promise<void> => (isAway ? Promise.reject(new Error("away")) : Promise.resolve());
    const dispatcher = createDispatcher({
      ...pollerDeps,
      outbox,
      topics: { t: { handle, retry: [10], concurrency: 4 } },
    });
    start(dispatcher);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(failed.length).toBeGreaterThan(40);
    expect(failed.length).toBeLessThanOrEqual(100);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(completed.length + failed.length).toBe(10_000);
    await drain(dispatcher, 0);
  } finally {
    vi.useRealTimers();
  }
});

it("a topic whose messages all fail logs one warning after half a minute, and a line when it recovers", async () => {
  vi.useFakeTimers();
  try {
    const { outbox } = heldBack(100_000, 100_000);
    let isAway = true;
    const handle = (): Promise<void> => (isAway ? Promise.reject(new Error("away")) : Promise.resolve());
    const lines: string[] = [];
    const told = (level: string) => (facts: { topic?: string }, text: string) =>
      void lines.push(`${level}: ${facts.topic ?? ""}: ${text}`);
    const log = { ...pollerDeps.log, warn: told("warn"), info: told("info") } as typeof pollerDeps.log;
    const topics = { t: { handle, retry: [10], concurrency: 4 } };
    const dispatcher = createDispatcher({ ...pollerDeps, log, outbox, topics });
    start(dispatcher);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(lines).toEqual(["warn: t: All messages of a topic fail"]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lines.slice(1)).toEqual(["info: t: Messages of a topic are handled again"]);
    await drain(dispatcher, 0);
  } finally {
    vi.useRealTimers();
  }
});

it("expired messages are dropped until none is left", async () => {
  vi.useFakeTimers();
  try {
    const { outbox } = heldBack(0, 1);
    let left = 2_500;
    const row = { id: "1", topic: "t", attempts: 0, lastError: null };
    const dropExpired = (): Promise<ExpiredRow[]> => {
      const dropped = Math.min(left, MAX_EXPIRED_BATCH);
      left -= dropped;
      return Promise.resolve(Array<ExpiredRow>(dropped).fill(row));
    };
    const dispatcher = createDispatcher({ ...pollerDeps, outbox: { ...outbox, dropExpired }, topics: {} });
    start(dispatcher);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(left).toBe(0);
    await drain(dispatcher, 0);
  } finally {
    vi.useRealTimers();
  }
});

it("a message that expires before its next attempt is dropped with a warning", async () => {
  const { outbox } = heldBack(1, 1);
  const warnings: unknown[] = [];
  const log = { ...pollerDeps.log, warn: (facts: unknown) => void warnings.push(facts) } as typeof pollerDeps.log;
  const dropping = { ...outbox, fail: () => Promise.resolve(1) };
  const handler = { handle: () => Promise.reject(new Error("the mailbox is full")), retry: [1_000], concurrency: 1 };
  const dispatcher = createDispatcher({ ...pollerDeps, log, outbox: dropping, topics: { t: handler } });
  start(dispatcher);
  const warning = { topic: "t", count: 1, id: "0", attempts: 1, lastError: "the mailbox is full" };
  await expect.poll(() => warnings, { interval: 5 }).toEqual([warning]);
  await drain(dispatcher, 1_000);
});
