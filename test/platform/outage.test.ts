import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { DatabaseStartError, isUnsent, mapFailure, migrate, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { freePort, runSql } from "../support/postgres.ts";

let home: TestDatabase;
let link: FlakyLink;
let url: string;
let database: OpenDatabase;
beforeAll(async () => {
  home = await testDatabase();
  const direct = new URL(home.url);
  link = await flakyLink({ host: direct.hostname, port: Number(direct.port) });
  direct.port = String(link.port);
  url = direct.href;
  database = await openDatabase({ url, entities: [], migrations, clock: testClock(), log: silentLog });
});
afterAll(async () => {
  await database.close();
  await link.close();
  await home.close();
});

const uses: Record<string, () => Promise<unknown>> = {
  transaction: () => database.transaction((tx) => tx.query("select 1 as one")),
  read: () => database.read((em) => em.execute("select 1 as one")),
  prepared: () => database.prepared("one", "select 1 as one", []),
};

/**
 * Milliseconds as this process lived them: a pause in which a busy machine lets it do nothing counts as one tick. A
 * wait on purpose counts in full, since the process goes on meanwhile.
 */
const tickMs = 10;
let ticks = 0;
const ticking = setInterval(() => ticks++, tickMs).unref();
afterAll(() => clearInterval(ticking));
const lived = (): number => ticks * tickMs;

/** Every way to use the database, how each ended and how long it took. */
function everyUse() {
  return Promise.all(
    Object.entries(uses).map(async ([name, use]) => {
      const started = lived();
      const error = await use().then(
        () => undefined,
        (cause: unknown) => cause as { status?: number; retryAfter?: number },
      );
      return {
        name,
        status: error === undefined ? 200 : error.status,
        retryAfter: error?.retryAfter,
        ms: lived() - started,
      };
    }),
  );
}
const statuses = async () => (await everyUse()).map((one) => one.status);
afterEach(() => {
  const { transactions, prepared } = database.pools();
  expect([transactions.total - transactions.idle, prepared.total - prepared.idle], "connections that leaked").toEqual([
    0, 0,
  ]);
});

describe("A database that is away", () => {
  test("requests return 503 while connections are refused, and succeed as soon as they are accepted", async () => {
    expect(await statuses()).toEqual([200, 200, 200]);
    await link.cut();
    for (const { name, status, retryAfter, ms } of [...(await everyUse()), ...(await everyUse())]) {
      expect([status, retryAfter], name).toEqual([503, 1]);
      expect(ms, name).toBeLessThan(10_000);
    }
    const reason = `connect ECONNREFUSED 127.0.0.1:${link.port}`;
    expect(await database.ready()).toEqual({ database: "unreachable", migrations: "unknown", reason });
    await link.restore();
    // Nothing has to be waited for but the new connections, which on a busy machine may take longer than the pool
    // waits.
    await expect.poll(statuses).toEqual([200, 200, 200]);
    await expect.poll(() => database.ready()).toEqual({ database: "ok", migrations: "ok" });
  });

  test("requests return 503 while the database is silent, and succeed afterwards without a restart", async () => {
    expect(await statuses()).toEqual([200, 200, 200]);
    link.deafen();
    const [first, readiness] = await Promise.all([everyUse(), database.ready()]);
    expect(readiness.database).toBe("unreachable");
    for (const { name, status, ms } of first) {
      expect(status, name).toBe(503);
      expect(ms, name).toBeLessThan(90_000);
    }
    for (const { name, status, ms } of await everyUse()) {
      expect(status, name).toBe(503);
      expect(ms, name).toBeLessThan(90_000);
    }
    await link.restore();
    await expect.poll(statuses).toEqual([200, 200, 200]);
  });

  test("requests succeed at once after the server has ended all connections", async () => {
    await statuses();
    const started = lived();
    await runSql(
      home.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await expect.poll(statuses).toEqual([200, 200, 200]);
    expect(lived() - started).toBeLessThan(20_000);
  });

  test("a full pool refuses waiting transactions with 503, and hot reads continue", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const held = Array.from({ length: 10 }, () =>
      database.transaction(async (tx) => {
        await tx.query("select 1");
        await released;
      }),
    );
    await expect.poll(() => database.pools().transactions).toMatchObject({ total: 10, idle: 0, waiting: 0 });
    const started = lived();
    const waiting = uses["transaction"]!();
    expect(await uses["prepared"]!()).toEqual([{ one: 1 }]);
    await expect(waiting).rejects.toMatchObject({ status: 503 });
    expect(lived() - started).toBeLessThan(25_000);
    release();
    await Promise.all(held);
  });

  test("the server ends a statement that takes too long", async () => {
    const started = lived();
    await expect(database.transaction((tx) => tx.query("select pg_sleep(300)"))).rejects.toMatchObject({ status: 503 });
    expect(lived() - started).toBeLessThan(65_000);
    expect(await statuses()).toEqual([200, 200, 200]);
  });
});

test.each(["EMFILE", "EADDRNOTAVAIL"])(
  "a connection that a machine short of resources refuses with %s is a 503",
  (code) => {
    const cause = Object.assign(new Error(`connect ${code} 127.0.0.1:5432`), { code });
    const mapped = mapFailure(cause);
    expect(mapped).toMatchObject({ status: 503, code: "unavailable" });
    expect(isUnsent(mapped)).toBe(true);
  },
);

test("a migration waits for a database, and its error contains no password", async () => {
  const port = await freePort();
  const failure = await migrate({
    url: `postgres://me:geheim@127.0.0.1:${port}/none`,
    migrations,
    log: silentLog,
    waitMs: 400,
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(DatabaseStartError);
  expect((failure as Error).message).toMatch(
    /^The database none at 127\.0\.0\.1:\d+ cannot be reached \(waited 0 s\): .*ECONNREFUSED/,
  );
  const wrong = new URL(home.url);
  wrong.password = "geheim";
  const refused = await migrate({ url: wrong.href, migrations, log: silentLog }).catch((error: unknown) => error);
  expect((refused as Error).message).toMatch(/refuses the connection: password authentication failed/);
  expect((refused as Error).message).not.toContain("geheim");
});
