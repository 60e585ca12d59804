import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { createLimiter, createStreamPlaces } from "../../src/platform/limits/index.ts";
import type { ReleasePlace, StreamPlaces } from "../../src/platform/limits/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const MOST = 5;

let shared: TestDatabase;
let one: OpenDatabase;
let here: StreamPlaces;
beforeAll(async () => {
  shared = await testDatabase();
  one = await open();
  here = placesOf(one);
});
afterAll(async () => {
  await one.close();
  await shared.close();
});

/** A database as another process has it: with a liveness lock of its own. */
const open = (): Promise<OpenDatabase> =>
  openDatabase({ url: shared.url, entities: [], migrations, clock: testClock(), log: silentLog });

const placesOf = (database: OpenDatabase): StreamPlaces =>
  createStreamPlaces({ database, livenessId: database.livenessId, most: MOST });

const takeAll = (places: StreamPlaces, principal: string, count: number): Promise<(ReleasePlace | undefined)[]> =>
  Promise.all(Array.from({ length: count }, () => places.take(principal)));

const rows = (): Promise<{ holders: Record<string, number> }[]> =>
  runSql(shared.url, "select holders from open_streams");

it("parallel streams of one principal at two instances get exactly the maximum of places", async () => {
  const two = await open();
  const there = placesOf(two);
  for (let round = 0; round < 10; round++) {
    const principal = `user:${randomUUID()}`;
    const taken = (await Promise.all([takeAll(here, principal, MOST), takeAll(there, principal, MOST)])).flat();
    expect(taken.filter((release) => release !== undefined)).toHaveLength(MOST);
    for (const release of taken) release?.();
  }
  // Rows go with the last stream of their principal.
  await expect.poll(rows).toEqual([]);
  await two.close();
});

it("a place that was given back can be taken at the other instance, and releasing twice frees one place", async () => {
  const two = await open();
  const there = placesOf(two);
  const principal = `user:${randomUUID()}`;
  const taken = await takeAll(here, principal, MOST);
  expect(await there.take(principal)).toBeUndefined();
  taken[0]?.();
  taken[0]?.();
  await expect.poll(() => there.take(principal)).toBeDefined();
  expect(await there.take(principal)).toBeUndefined();
  expect(await here.take(principal)).toBeUndefined();
  for (const release of taken) release?.();
  await two.close();
});

it("streams of an instance that has ended no longer count, and its rows are deleted", async () => {
  const two = await open();
  const [shown, left] = [`user:${randomUUID()}`, `user:${randomUUID()}`];
  const there = placesOf(two);
  await Promise.all([takeAll(there, shown, MOST), takeAll(there, left, MOST)]);
  expect(await here.take(shown)).toBeUndefined();
  const { purge } = createLimiter({ database: one, clock: testClock() });
  await purge();
  expect(await here.take(left)).toBeUndefined();

  // The lock goes with the connection, as it does when the process is killed; no place was given back.
  await two.close();
  await expect.poll(() => here.take(shown)).toBeDefined();
  const held = await rows();
  await purge();
  expect(await rows()).toHaveLength(held.length - 1);
});

it("an instance whose liveness connection was lost counts its streams again under another id", async () => {
  const principal = `user:${randomUUID()}`;
  const two = await open();
  const there = placesOf(two);
  await takeAll(there, principal, MOST);
  const id = await two.livenessId();
  await runSql(
    shared.url,
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and (classid::bigint << 32) | objid::bigint = $1::bigint`,
    [id],
  );
  await expect.poll(() => two.livenessId()).not.toBe(id);
  // The next stream of anybody at that instance counts all of its streams again.
  await there.take(`user:${randomUUID()}`);
  await expect.poll(() => here.take(principal)).toBeUndefined();
  await two.close();
});
