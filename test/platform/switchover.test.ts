import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { createLivenessLock } from "../../src/platform/db/liveness-lock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { optionDropper } from "../support/option-dropper.ts";
import type { OptionDropper } from "../support/option-dropper.ts";
import { databaseUrl, runSql, startPostgres } from "../support/postgres.ts";
import type { TestServer } from "../support/postgres.ts";

/** Another server cannot be had where the tests use an existing one. */
const isOwn = process.env["TEST_DATABASE_URL"] === undefined;

let former: TestServer;
let home: TestDatabase;
/** Address that a service uses, and the server it leads to. */
let link: OptionDropper;
let target: { host: string; port: number };
let database: OpenDatabase;
beforeAll(async () => {
  if (!isOwn) return;
  [former, home] = await Promise.all([startPostgres(), testDatabase()]);
  const { pathname, password } = new URL(home.url);
  await runSql(former.url, "create role atrium_app nologin");
  await runSql(former.url, `create database ${pathname.slice(1)}`);
  await runSql(former.url, `alter role postgres password '${password}'`);
  const { hostname, port } = new URL(former.url);
  target = { host: hostname, port: Number(port) };
  link = await optionDropper(target);
  link.dropping = false;
});
afterAll(async () => {
  if (!isOwn) return;
  await link.close();
  await former.stop();
  await home.close();
});

const portOf = async (rows: Promise<unknown>): Promise<number> => ((await rows) as { port: number }[])[0]!.port;
const where = "select inet_server_port() as port";
const uses: Record<string, () => Promise<number>> = {
  transaction: () => portOf(database.transaction((tx) => tx.query(where))),
  read: () => portOf(database.read((em) => em.execute(where))),
  prepared: () => portOf(database.prepared("where", where, [])),
  background: () => portOf(database.background.prepared("where", where, [])),
};
const everyUse = () =>
  Promise.all(Object.values(uses).map((use) => use().catch((error: { status: number }) => error.status)));

test.runIf(isOwn)("a service leaves a former primary that goes on serving reads after a switchover", async () => {
  const [before, now] = [former, home].map(({ url }) => Number(new URL(url).port));
  const { password } = new URL(home.url);
  const administrator = databaseUrl(Object.assign(new URL(former.url), { password }).href, "postgres");
  const setDefault = async (readOnly: "on" | "off"): Promise<void> => {
    await runSql(administrator, `alter system set default_transaction_read_only = ${readOnly}`);
    await runSql(administrator, "select pg_reload_conf()");
    // Whoever connects now, after every connection was told.
    const shown = () => runSql(administrator, "show default_transaction_read_only");
    await expect.poll(shown).toEqual([{ default_transaction_read_only: readOnly }]);
  };
  await setDefault("off");
  target.port = Number(before);
  const url = Object.assign(new URL(home.url), { hostname: "127.0.0.1", port: String(link.port) }).href;
  database = await openDatabase({ url, entities: [], migrations, clock: testClock(), log: silentLog });
  const lock = createLivenessLock(url, silentLog);
  onTestFinished(async () => {
    await lock.close();
    await database.close();
  });
  expect(await everyUse()).toEqual(Object.values(uses).map(() => before));
  const id = await lock.id();

  await setDefault("on");
  target.port = Number(now);
  // What is out of date is no answer, not even once.
  expect(await everyUse()).not.toContain(before);

  await expect.poll(everyUse).toEqual(Object.values(uses).map(() => now));
  expect(await database.ready()).toEqual({ database: "ok", migrations: "ok" });
  await expect.poll(() => lock.id()).not.toBe(id);
});
