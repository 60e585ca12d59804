import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase, violatedConstraint } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

let home: Awaited<ReturnType<typeof testDatabase>>;
let proxy: Awaited<ReturnType<typeof countingProxy>>;
let database: OpenDatabase;

beforeAll(async () => {
  home = await testDatabase();
  await runSql(
    home.url,
    `create table things (id integer primary key, name text not null);
     grant select, insert, update, delete on things to atrium_app`,
  );
  const url = new URL(home.url);
  proxy = await countingProxy(url.hostname, Number(url.port));
  url.port = String(proxy.port);
  // One connection, so that every transaction has the same one.
  const options = { entities: [], migrations: [], clock: testClock(), log: silentLog, poolSize: 1 };
  database = await openDatabase({ url: url.href, ...options });
});
afterAll(async () => {
  await database.close();
  proxy.close();
  await home.close();
});
beforeEach(() => runSql(home.url, "truncate things"));

const INSERT = "insert into things (id, name) values ($1, $2)";
const names = async () => (await runSql(home.url, "select name from things order by id")).map((row) => row["name"]);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as Error,
  );

/** Counts the messages Sync that clients send through it: the round trips. */
async function countingProxy(host: string, port: number) {
  let syncs = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, host);
    sockets.add(client).add(upstream);
    client.on("data", (bytes) => {
      for (let at = bytes.indexOf("S\0\0\0\u0004"); at >= 0; at = bytes.indexOf("S\0\0\0\u0004", at + 1)) syncs++;
    });
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async during(work: () => Promise<unknown>): Promise<number> {
      const before = syncs;
      await work();
      return syncs - before;
    },
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("Groups of statements", () => {
  it("deferred statements, the reauthorization and COMMIT take one round trip with BEGIN", async () => {
    const reauthorize = async (tx: { query: (sql: string) => Promise<unknown> }) => void (await tx.query("select 1"));
    const rows: unknown[] = [];
    const trips = await proxy.during(() =>
      database.transaction(
        async (tx) => {
          tx.defer(INSERT, [1, "one"]);
          tx.defer<{ name: string }>("select name from things where id = $1", [1], (found) => {
            rows.push(...found);
            tx.wake("things");
          });
          await tx.emit({ topic: "thing.made", payload: {} });
          return Promise.resolve();
        },
        { reauthorize },
      ),
    );
    expect(trips).toBe(1);
    expect(rows).toEqual([{ name: "one" }]);
    expect(await names()).toEqual(["one"]);
  });

  it("statements that are sent in one turn take one round trip, and see each other in their order", async () => {
    const trips = await proxy.during(() =>
      database.transaction(async (tx) => {
        tx.defer(INSERT, [1, "deferred"]);
        const [, found] = await Promise.all([
          Promise.resolve().then(() => tx.query(INSERT, [2, "later"])),
          Promise.resolve()
            .then(() => undefined)
            .then(() => tx.query("select name from things order by id")),
        ]);
        expect(found).toEqual([{ name: "deferred" }, { name: "later" }]);
      }),
    );
    expect(trips).toBe(2);
  });

  it("a value that changes after it was given is sent as it was", async () => {
    const name = Buffer.from("given");
    await database.transaction(async (tx) => {
      tx.defer("insert into things (id, name) values ($1, convert_from($2, 'UTF8'))", [1, name]);
      name.fill(0);
      return Promise.resolve();
    });
    expect(await names()).toEqual(["given"]);
  });

  it("when a statement fails, those before it succeed, those behind it are skipped, and nothing is kept", async () => {
    let outcomes: PromiseSettledResult<unknown>[] = [];
    const failed = database.transaction(async (tx) => {
      outcomes = await Promise.allSettled([
        tx.query(INSERT, [1, "before"]),
        tx.query("select 1 / $1::int", [0]),
        tx.query(INSERT, [2, "behind"]),
      ]);
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason as Error;
    });
    expect(await failure(failed)).toMatchObject({ code: "22012" });
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "22012" } },
      { status: "rejected", reason: { code: "25P02" } },
    ]);
    expect(await names()).toEqual([]);
  });

  it("a deferred statement that violates a constraint fails the transaction with the constraint's name", async () => {
    const failed = await failure(
      database.transaction(async (tx) => {
        tx.defer(INSERT, [1, "first"]);
        tx.defer(INSERT, [1, "second"]);
        tx.defer(INSERT, [2, "third"]);
        return Promise.resolve();
      }),
    );
    expect(violatedConstraint(failed)).toBe("things_pkey");
    expect(await names()).toEqual([]);
  });

  it("a deferred value that cannot be sent fails the transaction, whatever else it wrote", async () => {
    const unsendable = {
      toPostgres: () => {
        throw new Error("cannot be sent");
      },
    };
    const failed = database.transaction(async (tx) => {
      await tx.query(INSERT, [1, "written"]);
      tx.defer(INSERT, [2, unsendable]);
    });
    await expect(failed).rejects.toThrow("cannot be sent");
    expect(await names()).toEqual([]);
  });

  it("when BEGIN fails, no statement of its group or behind it runs, and the transaction runs again", async () => {
    for (let i = 0; i < 6; i++) await database.transaction((tx) => tx.query("select $1::int", [i]));
    // The server forgets the prepared BEGIN.
    await database.transaction((tx) => tx.query("deallocate all"));
    let runs = 0;
    await database.transaction(async (tx) => {
      const run = ++runs;
      const first = tx.query(`insert into things (id, name) values (${run * 10}, 'run ${run}')`);
      await new Promise(setImmediate);
      const second = tx.query(`insert into things (id, name) values (${run * 10 + 1}, 'run ${run} again')`);
      await Promise.all([first, second]);
    });
    expect(runs).toBe(2);
    expect(await names()).toEqual(["run 2", "run 2 again"]);
  });

  it("a group with a prepared plan that a migration made stale runs again", async () => {
    const read = () =>
      database.transaction(async (tx) => {
        const rows = tx.query("select things.* from things where id = $1", [1]);
        tx.defer("update things set name = name || '.' where id = $1", [1]);
        return { rows };
      });
    await runSql(home.url, "insert into things values (1, 'one')");
    for (let i = 0; i < 8; i++) await (await read()).rows;
    await runSql(home.url, "alter table things add column size integer default 7");
    expect(await (await read()).rows).toEqual([{ id: 1, name: "one........", size: 7 }]);
    expect(await names()).toEqual(["one........."]);
    await runSql(home.url, "alter table things drop column size");
  });

  it("a connection lost in the middle of a group keeps nothing, and the next transaction has another", async () => {
    const lost = failure(
      database.transaction(async (tx) => {
        tx.defer(INSERT, [1, "before"]);
        tx.defer("select pg_sleep(4)");
        tx.defer(INSERT, [2, "behind"]);
        return Promise.resolve();
      }),
    );
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where query = 'select pg_sleep(4)' and state = 'active'`;
    await expect.poll(() => runSql(home.url, end)).toHaveLength(1);
    expect(await lost).toMatchObject({ code: "unavailable" });
    expect(await names()).toEqual([]);
    await database.transaction((tx) => tx.query(INSERT, [3, "after"]));
    expect(await names()).toEqual(["after"]);
  });

  it("a reauthorization that is refused after deferred writes keeps none of them", async () => {
    const failed = await failure(
      database.transaction(
        async (tx) => {
          tx.defer(INSERT, [1, "written"]);
          return Promise.resolve();
        },
        {
          reauthorize: async (tx) =>
            void (await tx.query("do $$ begin raise exception 'refused' using errcode = 'AT401'; end $$")),
        },
      ),
    );
    expect(failed).toMatchObject({ code: "unauthorized" });
    expect(await names()).toEqual([]);
  });

  it("a reauthorization that sends its statement late is awaited before COMMIT", async () => {
    const failed = await failure(
      database.transaction((tx) => tx.query(INSERT, [1, "written"]), {
        async reauthorize(tx) {
          await sleep(5);
          await tx.query("do $$ begin raise exception 'refused' using errcode = 'AT401'; end $$");
        },
      }),
    );
    expect(failed).toMatchObject({ code: "unauthorized" });
    expect(await names()).toEqual([]);
  });

  it("a deadline that passes while a deferred statement waits for a lock keeps nothing", async () => {
    await runSql(home.url, "insert into things values (1, 'locked')");
    const blocker = new pg.Client({ connectionString: home.url });
    await blocker.connect();
    await blocker.query("begin");
    await blocker.query("select from things where id = 1 for update");
    const deadline = new AbortController();
    const late = failure(
      database.transaction(
        async (tx) => {
          tx.defer("update things set name = 'late' where id = 1");
          return Promise.resolve();
        },
        { signal: deadline.signal },
      ),
    );
    await expect
      .poll(() => runSql(home.url, "select 1 from pg_stat_activity where wait_event_type = 'Lock'"))
      .toHaveLength(1);
    deadline.abort();
    await blocker.query("rollback");
    await blocker.end();
    expect(await late).toMatchObject({ name: "AbortError" });
    expect(await names()).toEqual(["locked"]);
  });

  it("a held transaction has run its deferred statements before it is held", async () => {
    const effect = {
      hold: () => {
        throw new Error("is held");
      },
    };
    const failed = database.transaction(
      async (tx) => {
        tx.defer("select 1 / 0");
        return Promise.resolve();
      },
      { effect },
    );
    expect(await failure(failed)).toMatchObject({ code: "22012" });
  });
});
