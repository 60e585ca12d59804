import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { defineConcurrentMigration, defineMigration, migrate, openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

let home: TestDatabase;
beforeEach(async () => {
  home = await testDatabase();
});
afterEach(() => home.close());

/** Gives the database defaults that new sessions begin with, as its administrator may. */
async function setDefaults(settings: Record<string, string>): Promise<void> {
  const name = new URL(home.url).pathname.slice(1);
  const changes = Object.entries(settings).map(([one, value]) => `alter database ${name} set ${one} = '${value}'`);
  await runSql(home.url, ["create schema other", ...changes].join(";\n"));
}

/** The snapshot that each transaction of a liveness lock keeps, as a superuser sees it. */
async function snapshotsOfHolders(): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: home.url, options: "-c idle_session_timeout=0" });
  await client.connect();
  try {
    const sql = `select backend_xmin from pg_stat_activity
      where application_name = 'atrium-holder' and datname = current_database()`;
    return (await client.query<{ backend_xmin: unknown }>(sql)).rows.map((row) => row.backend_xmin);
  } finally {
    await client.end();
  }
}

test("responses do not depend on the styles, the time zone and the schema that a database sets", async () => {
  await setDefaults({
    datestyle: "SQL, DMY",
    intervalstyle: "sql_standard",
    timezone: "Asia/Kathmandu",
    search_path: "other",
    extra_float_digits: "-5",
    standard_conforming_strings: "off",
  });
  const app = await startApp({ databaseUrl: home.url });
  try {
    const token = await app.login();
    const events = await app.call("GET", "/api/auth/events", { token });
    expect(events.body).toMatchObject({ data: [{ created_at: new Date(app.clock.now()).toISOString() }] });
    const sessions = await app.call("GET", "/api/auth/sessions", { token });
    expect(sessions.status).toBe(200);
  } finally {
    await app.close();
  }
});

test("transactions that a database makes serializable and short delay no vacuum and lose no lock", async () => {
  await setDefaults({
    default_transaction_isolation: "serializable",
    transaction_timeout: "300ms",
    lock_timeout: "1ms",
    idle_session_timeout: "300ms",
  });
  const options = { url: home.url, entities: [], migrations, clock: testClock(), log: silentLog };
  const database = await openDatabase({ ...options, poolSize: 1 });
  try {
    const pid = "select pg_backend_pid() as pid";
    const before = await database.transaction((tx) => tx.query(pid));
    const id = await database.livenessId();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await database.livenessId()).toBe(id);
    expect(await database.transaction((tx) => tx.query(pid))).toEqual(before);
    const wait = "select current_setting('lock_timeout') as wait";
    expect(await database.transaction((tx) => tx.query(wait))).toEqual([{ wait: "0" }]);
    // The statement that takes the lock keeps its snapshot until the next one, which checks the connection.
    await expect.poll(snapshotsOfHolders, { interval: 200 }).toEqual([null]);
  } finally {
    await database.close();
  }
});

test("migrations take longer than the statements and transactions that a database allows by default", async () => {
  await setDefaults({
    statement_timeout: "200ms",
    transaction_timeout: "300ms",
    idle_session_timeout: "200ms",
    idle_in_transaction_session_timeout: "200ms",
    search_path: "other",
  });
  const long = [
    defineMigration("9001-long", ["create table long_one (n int)", "select pg_sleep(0.5)"]),
    defineConcurrentMigration("9002-long", ["select pg_sleep(0.5)", { index: "long_one_n", on: "long_one (n)" }]),
  ];
  const all = [...migrations, ...long];
  const ran = await migrate({ url: home.url, migrations: all, log: silentLog, waitMs: 1_000 });
  expect(ran).toEqual(["9001-long", "9002-long"]);
});

test("a service works in a database where nobody may call functions or use the schema by default", async () => {
  const hardened = await testDatabase({ empty: true });
  try {
    await runSql(
      hardened.url,
      `alter default privileges revoke execute on functions from public;
       revoke all on database ${new URL(hardened.url).pathname.slice(1)} from public;
       revoke all on schema public from public`,
    );
    await migrate({ url: hardened.url, migrations, log: silentLog });
    const app = await startApp({ databaseUrl: hardened.url });
    try {
      const me = await app.call("GET", "/api/auth/me", { token: await app.login() });
      expect(me.status).toBe(200);
    } finally {
      await app.close();
    }
  } finally {
    await hardened.close();
  }
});
