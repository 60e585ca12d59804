import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CallerContext } from "../../src/platform/context.ts";
import { createRequestContext } from "../../src/platform/context.ts";
import type { Caller, RequestInfo } from "../../src/platform/caller.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import type { Effect, Reauthorize } from "../../src/platform/db/types.ts";
import { createJointTransactions } from "../../src/platform/joint-transactions.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

let home: Awaited<ReturnType<typeof testDatabase>>;
let database: OpenDatabase;
let store: (context: CallerContext, id: number) => Promise<number>;

beforeAll(async () => {
  home = await testDatabase();
  await runSql(
    home.url,
    `create table things (id integer primary key check (id < 1000));
     grant select, insert on things to atrium_app`,
  );
  database = await openDatabase({ url: home.url, entities: [], migrations: [], clock: testClock(), log: silentLog });
  store = createJointTransactions<number, number>(database, 50, (tx, ids) => {
    const stored = tx.query<{ id: number }>("insert into things select unnest($1::integer[]) returning id", [ids]);
    return ids.map(async (id) => ((await stored).some((row) => row.id === id) ? id : -1));
  });
});
afterAll(async () => {
  await database.close();
  await home.close();
});
beforeEach(() => runSql(home.url, "truncate things"));

const allowed: Reauthorize = async (tx) => void (await tx.query("select 1"));
/** Refuses as the functions of PostgreSQL do that judge callers. */
const refused: Reauthorize = async (tx) =>
  void (await tx.query("do $$ begin raise exception 'refused' using errcode = 'AT401'; end $$"));
/** Has to wait before it can send anything. */
const refusedLate: Reauthorize = async (tx, how) => {
  await new Promise((resolve) => setImmediate(resolve));
  await refused(tx, how);
};

function contextOf(reauthorize: Reauthorize, more: { effect?: Effect; signal?: AbortSignal } = {}): CallerContext {
  return createRequestContext(database, { reauthorize, ...more } as Caller, {} as RequestInfo);
}

/** The things by the transactions that stored them. */
async function transactions(): Promise<number[][]> {
  const rows = await runSql<{ ids: number[] }>(
    home.url,
    "select array_agg(id order by id) as ids from things group by xmin::text order by 1",
  );
  return rows.map(({ ids }) => ids);
}

test("requests of one turn share a transaction, and each gets its own answer", async () => {
  const answers = await Promise.all([3, 1, 2].map((id) => store(contextOf(allowed), id)));
  expect(answers).toEqual([3, 1, 2]);
  expect(await transactions()).toEqual([[1, 2, 3]]);
});

test.each([
  ["at once", refused],
  ["after a while", refusedLate],
])("a caller who is refused %s stores nothing, and the others store theirs", async (_, reauthorize) => {
  const outcomes = await Promise.allSettled(
    [allowed, reauthorize, allowed].map((check, nth) => store(contextOf(check), nth)),
  );
  expect(outcomes).toMatchObject([
    { status: "fulfilled", value: 0 },
    { status: "rejected", reason: { code: "unauthorized" } },
    { status: "fulfilled", value: 2 },
  ]);
  expect(await transactions()).toEqual([[0], [2]]);
});

test("a request that PostgreSQL refuses fails alone", async () => {
  const outcomes = await Promise.allSettled([1, 1_000, 2].map((id) => store(contextOf(allowed), id)));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await transactions()).toEqual([[1], [2]]);
});

test("requests do not wait for one whose row is locked, nor does it fail for waiting longer", async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let locked = (): void => undefined;
  const isLocked = new Promise<void>((resolve) => (locked = resolve));
  const other = database.background.transaction(async (tx) => {
    await tx.query("insert into things values (2)");
    locked();
    await released;
    throw new Error("rolled back");
  });
  await isLocked;
  const [first, second, third] = [1, 2, 3].map((id) => store(contextOf(allowed), id));
  expect(await Promise.all([first, third])).toEqual([1, 3]);
  release();
  await expect(other).rejects.toThrow("rolled back");
  expect(await second).toBe(2);
});

test("requests with an Idempotency-Key or a deadline have transactions of their own", async () => {
  const held: number[] = [];
  const effect: Effect = { hold: () => held.push(1) === 0 };
  const { signal } = new AbortController();
  await Promise.all([
    store(contextOf(allowed), 1),
    store(contextOf(allowed, { effect }), 2),
    store(contextOf(allowed), 3),
    store(contextOf(allowed, { signal }), 4),
  ]);
  expect(held).toHaveLength(1);
  expect(await transactions()).toEqual([[1, 3], [2], [4]]);
});
