import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import {
  DatabaseStartError,
  defineConcurrentMigration,
  defineMigration,
  migrate,
  openDatabase,
} from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { optionDropper } from "../support/option-dropper.ts";
import { runSql } from "../support/postgres.ts";

const clock = testClock();

let home: TestDatabase;
beforeAll(async () => {
  home = await testDatabase();
});
afterAll(() => home.close());

describe("Migrations", () => {
  test("migrations run once when several instances start together", async () => {
    const empty = await testDatabase({ empty: true });
    try {
      const ran = await Promise.all([1, 2, 3, 4].map(() => migrate({ url: empty.url, migrations, log: silentLog })));
      expect(ran.flat().toSorted()).toEqual(migrations.map((one) => one.name).toSorted());
      const opened = await openDatabase({ url: empty.url, entities: [], migrations, clock, log: silentLog });
      expect(await opened.ready()).toEqual({ database: "ok", migrations: "ok" });
      await opened.close();
    } finally {
      await empty.close();
    }
  });

  test("migrations run in several databases of one cluster at once", async () => {
    const homes = await Promise.all([1, 2, 3].map(() => testDatabase({ empty: true })));
    await Promise.all(homes.map(({ url }) => migrate({ url, migrations, log: silentLog })));
    await Promise.all(homes.map((one) => one.close()));
  });

  test("migrations run as an ordinary owner, for a service that connects as another user", async () => {
    const empty = await testDatabase({ empty: true });
    const [owner, app] = [`owner_${process.pid}`, `app_${process.pid}`];
    const as = (user: string) => Object.assign(new URL(empty.url), { username: user, password: "p" }).href;
    const name = new URL(empty.url).pathname.slice(1);
    try {
      await runSql(
        empty.url,
        `create role ${owner} login password 'p'; create role ${app} login password 'p';
         alter database ${name} owner to ${owner}`,
      );
      await expect(migrate({ url: as(owner), appUrl: as(app), migrations, log: silentLog })).rejects.toThrow(
        /As an administrator, run/,
      );
      await runSql(empty.url, `grant atrium_app to ${owner} with admin option`);
      await migrate({ url: as(owner), appUrl: as(app), migrations, log: silentLog });
      const opened = await openDatabase({ url: as(app), entities: [], migrations, clock, log: silentLog });
      expect(await opened.ready()).toEqual({ database: "ok", migrations: "ok" });
      expect(await opened.prepared("who", "select current_user as who, session_user as login", [])).toEqual([
        { who: "atrium_app", login: app },
      ]);
      await opened.close();
    } finally {
      await empty.close();
      await runSql(home.url, `drop role if exists ${app}; drop role if exists ${owner}`);
    }
  });

  test("migrations refuse a server that is too old, in one line, before they change anything", async () => {
    const empty = await testDatabase({ empty: true });
    const { hostname, port } = new URL(empty.url);
    // The search path of the database takes effect without the start-up options.
    const link = await optionDropper({ host: hostname, port: Number(port) });
    link.dropping = true;
    const url = Object.assign(new URL(empty.url), { port: String(link.port) }).href;
    try {
      // Found before the function of the server.
      await runSql(
        empty.url,
        `create function public.current_setting(name text) returns text language sql as
           $$ select case when name like 'server_version%' then '140023' else pg_catalog.current_setting(name) end $$;
         alter database ${new URL(empty.url).pathname.slice(1)} set search_path = public, pg_catalog`,
      );
      const started = migrate({ url, migrations, log: silentLog });
      await expect(started).rejects.toThrow(DatabaseStartError);
      await expect(started).rejects.toThrow(
        /^The database \S+ at \S+ is PostgreSQL 140023, but Atrium needs .*15 or newer; .*$/u,
      );
      expect(await runSql(empty.url, "select to_regclass('public.schema_migrations') as found")).toEqual([
        { found: null },
      ]);
    } finally {
      await link.close();
      await empty.close();
    }
  });

  test("migrations refuse a database that cannot store every text before they change anything", async () => {
    const name = `atrium_test_latin_${process.pid}`;
    await runSql(home.url, `create database ${name} encoding 'LATIN1' locale 'C' template template0`);
    const url = Object.assign(new URL(home.url), { pathname: name }).href;
    try {
      const started = migrate({ url, migrations, log: silentLog });
      await expect(started).rejects.toThrow(DatabaseStartError);
      await expect(started).rejects.toThrow(/^The database \S+ at \S+ has the encoding LATIN1, but .*UTF8.*$/u);
      expect(await runSql(url, "select to_regclass('public.schema_migrations') as found")).toEqual([{ found: null }]);
    } finally {
      await runSql(home.url, `drop database ${name} with (force)`);
    }
  });

  test.each([
    ["in one transaction", defineMigration],
    ["in steps", defineConcurrentMigration],
  ])(
    "a migration %s without its lock gives way to readers, names who holds it, and runs afterwards",
    async (_, define) => {
      const empty = await testDatabase({ empty: true });
      const holder = new pg.Client({ connectionString: empty.url, application_name: "pg_dump" });
      const reader = new pg.Client({ connectionString: empty.url, statement_timeout: 10_000 });
      try {
        await runSql(empty.url, "create table kept (id int)");
        await holder.connect();
        await reader.connect();
        await holder.query("begin");
        await holder.query("select * from kept");
        const lines: string[] = [];
        const change = define("0001-change", ["alter table kept add column more int"]);
        const say = (line: string): void => void lines.push(line);
        const ran = migrate({ url: empty.url, migrations: [change], log: silentLog, say });
        const [{ pid } = { pid: 0 }] = (await holder.query<{ pid: number }>("select pg_backend_pid() as pid")).rows;
        await expect.poll(() => lines).toEqual([expect.stringContaining(`${pid} (pg_dump)`)]);
        // Behind a migration that goes on waiting, it would wait too.
        expect((await reader.query("select * from kept")).rows).toEqual([]);
        await holder.query("commit");
        expect(await ran).toEqual(["0001-change"]);
      } finally {
        await Promise.all([holder.end(), reader.end()]);
        await empty.close();
      }
    },
  );

  test("an instance that waits for another's migrations says so", async () => {
    const empty = await testDatabase({ empty: true });
    const other = new pg.Client({ connectionString: empty.url });
    try {
      await other.connect();
      await other.query("select pg_advisory_lock(7203918451)");
      const lines: string[] = [];
      const ran = migrate({ url: empty.url, migrations: [], log: silentLog, say: (line) => void lines.push(line) });
      await expect.poll(() => lines).toEqual(["Another instance is migrating the database; waiting for it"]);
      await other.end();
      expect(await ran).toEqual([]);
    } finally {
      await other.end().catch(() => undefined);
      await empty.close();
    }
  });

  test("migrations go on after a failover: what was lost runs again, once the database takes writes", async () => {
    const empty = await testDatabase({ empty: true });
    const name = new URL(empty.url).pathname.slice(1);
    const setReadOnly = (to: "on" | "off") =>
      runSql(home.url, `alter database ${name} set default_transaction_read_only = ${to}`);
    const holder = new pg.Client({ connectionString: empty.url });
    try {
      await runSql(empty.url, "create table kept (id int)");
      await holder.connect();
      await holder.query("select pg_advisory_lock(1)");
      const list = [
        defineMigration("0001-first", ["alter table kept add column first int"]),
        defineMigration("0002-second", ["select pg_advisory_lock(1)", "alter table kept add column second int"]),
      ];
      // The time limit of its locks ends a migration that waits too; it is tried again.
      const ran = migrate({ url: empty.url, migrations: list, log: silentLog });
      await expect
        .poll(() => runSql(empty.url, "select to_regclass('schema_migrations') is not null as made"))
        .toEqual([{ made: true }]);
      await expect
        .poll(() => runSql(empty.url, "select name from schema_migrations"))
        .toEqual([{ name: "0001-first" }]);
      await setReadOnly("on");
      await runSql(
        home.url,
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'atrium-migrations' and datname = $1`,
        [name],
      );
      await holder.end();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await setReadOnly("off");
      expect(await ran).toEqual(["0001-first", "0002-second"]);
    } finally {
      await holder.end().catch(() => undefined);
      await empty.close();
    }
  });

  test("migrations give up on a database that stays read-only with one line", async () => {
    const empty = await testDatabase({ empty: true });
    const name = new URL(empty.url).pathname.slice(1);
    try {
      await runSql(home.url, `alter database ${name} set default_transaction_read_only = on`);
      const failed = migrate({ url: empty.url, migrations, log: silentLog, waitMs: 1_000 });
      await expect(failed).rejects.toThrow(DatabaseStartError);
      await expect(failed).rejects.toThrow(
        new RegExp(`^The database ${name} at .* takes no writes \\(waited 1 s\\): cannot execute .*$`, "u"),
      );
    } finally {
      await empty.close();
    }
  });

  test("failed migrations leave nothing behind, and readiness names the missing ones", async () => {
    const broken = defineMigration("9998-broken", ["create table half (id int)", "select nonsense"]);
    const list = [...migrations, broken];
    await expect(migrate({ url: home.url, migrations: list, log: silentLog })).rejects.toThrow(/nonsense/);
    expect(await runSql(home.url, "select to_regclass('half') as half")).toEqual([{ half: null }]);
    const opened = await openDatabase({ url: home.url, entities: [], migrations: list, clock, log: silentLog });
    expect(await opened.ready()).toEqual({ database: "ok", migrations: "missing: 9998-broken" });
    await opened.close();
  });
});
