import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { errors } from "../../src/platform/errors.ts";
import { createIdempotencyStore } from "../../src/platform/idempotency.ts";
import type { IdempotencyScope, IdempotencyStore } from "../../src/platform/idempotency.ts";
import { silentLog } from "../../src/platform/log.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { testClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";
import { holding } from "../support/holding.ts";
import { runSql } from "../support/postgres.ts";

const clock = testClock();
const print = randomBytes(32);
let database: Awaited<ReturnType<typeof openTestDatabase>>;
let store: IdempotencyStore;
let scope: IdempotencyScope;
beforeAll(async () => {
  database = await openTestDatabase({ clock });
  store = createIdempotencyStore({
    database,
    clock,
    random: systemRandom,
    sealer: createSealer(randomBytes(32)),
    log: silentLog,
  });
});
afterAll(() => database.close());
beforeEach(() => {
  scope = { principal: "user:1", orgUuid: null, rpc: "/atrium.test/Make", key: randomBytes(8).toString("hex") };
});

async function claim() {
  const begun = await store.begin(scope, print);
  if (begun.replay !== undefined) throw new Error("replayed");
  return begun.claim;
}
const status = (work: Promise<unknown>) =>
  work.then(
    () => 200,
    (error: unknown) => (error as { status: number }).status,
  );
const effects = () =>
  database
    .prepared<{ n: number }>("effects", "select count(*)::int as n from outbox where topic = $1", [scope.key])
    .then((rows) => rows[0]!.n);
const makeEffect = (effect?: Awaited<ReturnType<typeof claim>>["effect"]) =>
  database.transaction((tx) => tx.emit({ topic: scope.key, payload: {} }), { effect });

/**
 * Ends the connections that hold what this process has claimed, as its death does, and waits until the process, which
 * lives on, has noticed.
 */
async function cutOff(): Promise<void> {
  const before = await database.livenessId();
  await runSql(
    database.url,
    `
    select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'
      and database = (select oid from pg_database where datname = current_database())`,
  );
  await expect.poll(() => database.livenessId()).not.toBe(before);
}

test("50 parallel uses of a key have one effect, and later ones return its response", async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async () => {
      try {
        const mine = await claim();
        await makeEffect(mine.effect);
        expect(await effects()).toBe(0);
        await mine.finish(Buffer.from("answer"));
        return 200;
      } catch (error) {
        return (error as { status?: number }).status ?? "replayed";
      }
    }),
  );
  expect(outcomes.filter((one) => one === 200)).toHaveLength(1);
  expect(outcomes.filter((one) => one !== 200 && one !== 409 && one !== "replayed")).toEqual([]);
  expect(await effects()).toBe(1);
  expect(await store.begin(scope, print)).toEqual({ replay: Buffer.from("answer") });
  const [row] = await database.prepared<{ answer: Buffer }>(
    "stored",
    "select answer from idempotency_records where answer is not null",
    [],
  );
  expect(row!.answer.includes("answer")).toBe(false);
});

test("another request with the same key returns 422, whether the first is running or done", async () => {
  const mine = await claim();
  expect(await status(store.begin(scope, randomBytes(32)))).toBe(422);
  await mine.finish(Buffer.from("x"));
  expect(await status(store.begin(scope, randomBytes(32)))).toBe(422);
  scope = { ...scope, principal: "user:2" };
  expect(await status(claim())).toBe(200);
});

test("a refused call releases its key", async () => {
  const mine = await claim();
  expect(await status(claim())).toBe(409);
  await mine.abandon();
  expect(await status(claim())).toBe(200);
});

test("a stored response outlives the release of its key, as after a commit whose answer was lost", async () => {
  const mine = await claim();
  await makeEffect(mine.effect);
  await mine.finish(Buffer.from("kept"));
  await mine.abandon();
  expect(await store.begin(scope, print)).toEqual({ replay: Buffer.from("kept") });
});

test.each([
  ["whose process lost its connection", cutOff],
  ["that outlived its lease", () => Promise.resolve(clock.advance(60_001))],
])("a call %s releases its key at once and cannot commit afterwards", async (_name, end) => {
  const dead = await claim();
  await makeEffect(dead.effect);
  expect(await status(claim())).toBe(409);
  await end();
  const next = await claim();
  expect(await status(dead.finish(Buffer.from("first")))).toBe(409);
  await dead.abandon();
  expect(await status(claim())).toBe(409);
  await makeEffect(next.effect);
  await next.finish(Buffer.from("second"));
  expect(await effects()).toBe(1);
  expect(await store.begin(scope, print)).toEqual({ replay: Buffer.from("second") });
});

test("a key stays claimed where the clock of another instance is ahead or behind", async () => {
  const instance = (aheadMs: number) => {
    const machine = { now: () => Date.now() + aheadMs, isMachine: true };
    const sealer = createSealer(randomBytes(32));
    return createIdempotencyStore({ database, clock: machine, random: systemRandom, sealer, log: silentLog });
  };
  const [behind, ahead] = [instance(-600_000), instance(90_000_000)];
  for (const first of [behind, ahead]) {
    scope = { ...scope, key: randomBytes(8).toString("hex") };
    await first.begin(scope, print);
    for (const other of [ahead, behind]) expect(await status(other.begin(scope, print))).toBe(409);
    await ahead.purge();
    expect(await status(behind.begin(scope, print))).toBe(409);
  }
});

test("keys of a process that is gone are available to fifty retries at once", async () => {
  const scopes = Array.from({ length: 50 }, (_, nth) => ({ ...scope, key: `${scope.key}-${nth}` }));
  for (const one of scopes) await store.begin(one, print);
  await cutOff();
  const begun = await Promise.all(scopes.map((one) => store.begin(one, print)));
  expect(begun.filter(({ replay }) => replay !== undefined)).toEqual([]);
});

test("an effect and its stored response are committed together or not at all", async () => {
  const refused = await claim();
  await makeEffect(refused.effect);
  await refused.abandon();
  expect(await effects()).toBe(0);
  const second = await claim();
  await makeEffect(second.effect);
  await second.finish(Buffer.from("x"));
  expect(await effects()).toBe(1);
  expect(await store.begin(scope, print)).toEqual({ replay: Buffer.from("x") });
});

test("a key can be used again after its effect was rolled back", async () => {
  const mine = await claim();
  await expect(database.transaction(() => Promise.reject(new Error("no")), { effect: mine.effect })).rejects.toThrow(
    "no",
  );
  await mine.abandon();
  expect(await status(claim())).toBe(200);
});

test("a key is released, and a response stored, although the database is away when the call ends", async () => {
  const usual = store;
  let away = 0;
  const flaky: Pick<OpenDatabase, "prepared" | "livenessId"> = {
    livenessId: () => database.livenessId(),
    prepared: (name, ...rest) =>
      /finish|abandon/u.test(name) && away-- > 0 ? Promise.reject(new Error("away")) : database.prepared(name, ...rest),
  };
  store = createIdempotencyStore({
    database: flaky,
    clock,
    random: systemRandom,
    sealer: createSealer(randomBytes(32)),
    log: silentLog,
    retryDelaysMs: [10, 10],
  });
  const settled = async (): Promise<number> => {
    for (;;) {
      const found = await status(store.begin(scope, print));
      if (found !== 409) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const refused = await claim();
  away = 2;
  await refused.abandon();
  expect(await settled()).toBe(200);
  clock.advance(60_001);
  const done = await claim();
  away = 1;
  await done.finish(Buffer.from("kept"));
  expect(await settled()).toBe(200);
  expect(await store.begin(scope, print)).toEqual({ replay: Buffer.from("kept") });
  store = usual;
});

test.each([
  ["was not sent is not looked for", "53300", 0],
  ["may have been sent is looked for until it shows", "ECONNRESET", 3],
])("a claim that %s", async (_, code, releases) => {
  const statements: string[] = [];
  const failing = createIdempotencyStore({
    database: {
      livenessId: () => database.livenessId(),
      prepared: (name, ...rest) => {
        statements.push(name);
        return name === "idempotency-claim"
          ? Promise.reject(errors.unavailable({ cause: Object.assign(new Error("failed"), { code }) }))
          : database.prepared(name, ...rest);
      },
    },
    clock,
    random: systemRandom,
    sealer: createSealer(randomBytes(32)),
    log: silentLog,
    retryDelaysMs: [1, 1],
  });
  expect(await status(failing.begin(scope, print))).toBe(503);
  await expect.poll(() => statements.filter((name) => name === "idempotency-abandon")).toHaveLength(releases);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(statements.filter((name) => name === "idempotency-abandon")).toHaveLength(releases);
});

test("records end after 24 h", async () => {
  const mine = await claim();
  await mine.finish(Buffer.from("x"));
  clock.advance(24 * 3_600_000 - 1_000);
  expect((await store.begin(scope, print)).replay).toEqual(Buffer.from("x"));
  clock.advance(1_000);
  expect(await status(claim())).toBe(200);
  clock.advance(24 * 3_600_000);
  expect(await store.purge()).toBeGreaterThan(0);
});

test("a record whose key a request claims while ended records are removed stays", async () => {
  await (await claim()).finish(Buffer.from("x"));
  clock.advance(24 * 3_600_000);
  const held = await holding(database.url);
  // Stands for the claim.
  const later = "update idempotency_records set expires_at = $1 returning 1";
  await held.run(later, [new Date(clock.now() + 24 * 3_600_000)]);
  const purging = store.purge();
  await Promise.race([purging, held.waitedFor()]);
  await held.commit();
  expect(await purging).toBe(0);
  expect((await store.begin(scope, print)).replay).toEqual(Buffer.from("x"));
});
