import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defineConcurrentMigration, defineMigration, migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const table = defineMigration("0001-table", [
  "create table grows (id int, kind text)",
  "insert into grows select n, 'a' from generate_series(1, 1000) n",
]);
const indexes = defineConcurrentMigration("0002-indexes", [
  "create table if not exists beside (id int)",
  { index: "grows_id", on: "grows (id)" },
  { index: "grows_kind", on: "grows (kind, id desc)" },
]);
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ empty: true });
});
afterAll(() => database.close());

const run = (migrations = [table, indexes]): Promise<string[]> =>
  migrate({ url: database.url, migrations, log: silentLog });
const built = (): Promise<{ name: string; valid: boolean }[]> =>
  runSql(
    database.url,
    `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
     where indrelid = 'grows'::regclass order by 1`,
  );

it("writes continue while an index is built, and an index left invalid is built again", async () => {
  expect(await run([table])).toEqual(["0001-table"]);
  const writer = new pg.Client(database.url);
  await writer.connect();
  await writer.query("begin");
  await writer.query("insert into grows values (0, 'b')");
  const migrating = run();
  // It waits for the writer's transaction, with which a plain index would deadlock the table; another writer does not
  // wait.
  const waits = `select 1 from pg_stat_activity
     where query like 'create index concurrently%' and wait_event_type = 'Lock'
     and datname = current_database()`;
  await expect.poll(() => runSql(database.url, waits)).toHaveLength(1);
  await runSql(database.url, "insert into grows values (0, 'c')");
  await runSql(
    database.url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where query like 'create index concurrently%' and datname = current_database()`,
  );
  // The migration goes on with the index that was left, which it drops first; that waits for the writer too.
  const drops = waits.replace("create", "drop");
  await expect.poll(() => runSql(database.url, drops)).toHaveLength(1);
  expect(await built()).toContainEqual({ name: "grows_id", valid: false });
  await writer.query("commit");
  await writer.end();
  expect(await migrating).toEqual(["0002-indexes"]);
  expect(await built()).toEqual([
    { name: "grows_id", valid: true },
    { name: "grows_kind", valid: true },
  ]);
  expect(await run()).toEqual([]);
});

describe("an index that becomes invalid after its migration", () => {
  const lines: string[] = [];
  const restart = (): Promise<string[]> =>
    migrate({ url: database.url, migrations: [table, indexes], log: silentLog, say: (line) => lines.push(line) });
  const invalidate = (name: string) =>
    runSql(database.url, "update pg_index set indisvalid = false where indexrelid = $1::regclass", [name]);
  const valid = [
    { name: "grows_id", valid: true },
    { name: "grows_kind", valid: true },
  ];
  beforeEach(() => void lines.splice(0));

  it("an index that became invalid after its migration is rebuilt at the next start, while writes go on", async () => {
    await invalidate("grows_id");
    const writer = new pg.Client(database.url);
    await writer.connect();
    await writer.query("begin");
    await writer.query("insert into grows values (0, 'd')");
    const starting = restart();
    await expect.poll(() => lines).toContain("The index grows_id of the table grows is invalid; rebuilding it");
    await runSql(database.url, "insert into grows values (0, 'e')");
    await writer.query("commit");
    await writer.end();
    expect(await starting).toEqual([]);
    expect(await built()).toEqual(valid);
  });

  it("what an interrupted reindex left beside an index is dropped", async () => {
    await runSql(database.url, "create index grows_id_ccnew on grows (id)");
    await invalidate("grows_id_ccnew");
    await restart();
    expect(lines).toEqual(["The index grows_id_ccnew of the table grows was left by a reindex; dropping it"]);
    expect(await built()).toEqual(valid);
  });

  it("an index that cannot be rebuilt is named, and keeps no instance from starting", async () => {
    await runSql(database.url, "create unique index grows_once on grows (id) where id > 0");
    await invalidate("grows_once");
    await runSql(database.url, "update pg_index set indisready = false where indexrelid = 'grows_once'::regclass");
    await runSql(database.url, "insert into grows values (7, 'twice')");
    expect(await restart()).toEqual([]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^The index grows_once stays invalid: could not create unique index/u),
    );
    await runSql(database.url, "drop index grows_once");
    expect(await built()).toEqual(valid);
  });
});

it("three instances that start together build each index once", async () => {
  await runSql(database.url, "drop table grows, beside; delete from schema_migrations");
  const ran = await Promise.all([run(), run(), run()]);
  expect(ran.flat().sort()).toEqual(["0001-table", "0002-indexes"]);
  expect(await built()).toEqual([
    { name: "grows_id", valid: true },
    { name: "grows_kind", valid: true },
  ]);
});
