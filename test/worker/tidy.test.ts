import { expect, it } from "vitest";
import { errors } from "../../src/platform/errors.ts";
import { createTidyPoller } from "../../src/worker/tidy.ts";
import { pollerDeps } from "../support/pollers.ts";

/** A task that removes 100 of `rows` rows in each batch, and the number it has left. */
function backlog(name: string, rows: number, order: string[]) {
  const state = { left: rows };
  const task = async (): Promise<number> => {
    order.push(name);
    state.left -= 100;
    return state.left > 0 ? 100 : 0;
  };
  return { state, task };
}

it("tidy tasks work off their backlogs batch by batch in turn, whether or not another task fails", async () => {
  const order: string[] = [];
  const [one, two] = [backlog("one", 30_000, order), backlog("two", 20_000, order)];
  const failing = (): Promise<number> => Promise.reject(new Error("away"));
  const poller = createTidyPoller({ ...pollerDeps, tasks: { failing, one: one.task, two: two.task } });
  poller.start();
  poller.nudge();
  await expect.poll(() => poller.stats().runs).toBe(1);
  expect([one.state.left, two.state.left]).toEqual([0, 0]);
  expect(order.slice(0, 4)).toEqual(["one", "two", "one", "two"]);
  expect(poller.stats().failures).toBe(1);
  await poller.drain(1_000);
  poller.nudge();
  expect(order).toHaveLength(500);
});

it.each([
  ["is logged when a task is wrong", new Error("wrong"), ["A poller failed and retries"]],
  ["is not logged when the database is away", errors.unavailable(), []],
])("a tidy run that fails %s", async (_, failure, lines) => {
  const warned: unknown[] = [];
  const warn = (_context: object, line: string): void => void warned.push(line);
  const log = { ...pollerDeps.log, warn: warn as (typeof pollerDeps.log)["warn"] };
  const poller = createTidyPoller({
    ...pollerDeps,
    log,
    tasks: { done: () => Promise.resolve(0), failing: () => Promise.reject(failure) },
  });
  poller.start();
  poller.nudge();
  await expect.poll(() => poller.stats().failures).toBe(1);
  expect(warned).toEqual(lines);
  await poller.drain(1_000);
});

it("a drained tidy poller finishes the batch in progress and begins no other", async () => {
  let finish = (_rows: number): void => undefined;
  const batches: string[] = [];
  const slow = (): Promise<number> => {
    batches.push("slow");
    return new Promise<number>((resolve) => (finish = resolve));
  };
  const next = async (): Promise<number> => batches.push("next");
  const poller = createTidyPoller({ ...pollerDeps, tasks: { slow, next } });
  poller.start();
  poller.nudge();
  const drained = poller.drain(10_000);
  finish(1_000);
  expect(await drained).toBe(true);
  expect(batches).toEqual(["slow"]);
});
