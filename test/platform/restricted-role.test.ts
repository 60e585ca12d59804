import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { DatabaseStartError, migrate, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { ServiceError } from "../../src/platform/errors.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { optionDropper } from "../support/option-dropper.ts";
import type { OptionDropper } from "../support/option-dropper.ts";
import { runSql } from "../support/postgres.ts";

let home: TestDatabase;
let link: OptionDropper;
let through: string;
beforeAll(async () => {
  home = await testDatabase();
  const { hostname, port } = new URL(home.url);
  link = await optionDropper({ host: hostname, port: Number(port) });
  through = Object.assign(new URL(home.url), { port: String(link.port) }).href;
});
afterAll(async () => {
  await link.close();
  await home.close();
});

const open = (): Promise<OpenDatabase> =>
  openDatabase({ url: through, entities: [], migrations, clock: testClock(), log: silentLog });

it("a service whose connections do not get the restricted role does not start and logs the reason", async () => {
  link.dropping = true;
  const started = startApp({ databaseUrl: through });
  await expect(started).rejects.toThrow(DatabaseStartError);
  await expect(started).rejects.toThrow(/runs statements as postgres and not as atrium_app, .*pooler.*"options"/);
});

it("no connection works with another role, in either pool", async () => {
  link.dropping = true;
  const database = await open();
  const refusals = await Promise.allSettled([
    database.transaction((tx) => tx.query("select 1")),
    database.prepared("one", "select 1 as one", []),
    database.read((em) => em.getConnection().execute("select 1")),
  ]);
  for (const refusal of refusals) {
    expect(refusal).toMatchObject({
      status: "rejected",
      reason: { status: 503, cause: expect.any(DatabaseStartError) as Error },
    });
    expect((refusal as PromiseRejectedResult).reason).toBeInstanceOf(ServiceError);
  }
  expect(await database.ready()).toMatchObject({ database: "not in the restricted role" });
  // Once the pooler passes the option on, the same service works.
  link.dropping = false;
  expect(await database.transaction((tx) => tx.query("select current_user as role"))).toEqual([{ role: "atrium_app" }]);
  expect(await database.prepared("role", "select current_user as role", [])).toEqual([{ role: "atrium_app" }]);
  await database.close();
});

it("a server that goes away while a role is being verified fails that connection and nothing else", async () => {
  link.dropping = false;
  const database = await open();
  link.breakAt = "select current_user";
  await expect(database.transaction((tx) => tx.query("select 1"))).rejects.toMatchObject({ status: 503 });
  link.breakAt = undefined;
  expect(await database.transaction((tx) => tx.query("select 1 as one"))).toEqual([{ one: 1 }]);
  await database.close();
});

it("the role is verified once per connection, not per statement", async () => {
  link.dropping = false;
  const database = await open();
  for (let i = 0; i < 3; i++) await database.prepared("role", "select current_user as role", []);
  link.dropping = true;
  expect(await database.prepared("role", "select current_user as role", [])).toEqual([{ role: "atrium_app" }]);
  await database.close();
});

it("a service whose user has the role anyway does not start behind a pooler that drops its settings", async () => {
  link.dropping = true;
  const user = `pooled_${process.pid}`;
  await runSql(home.url, `create role ${user} login password 'p'; alter role ${user} set role = 'atrium_app'`);
  await runSql(home.url, `grant atrium_app to ${user}`);
  try {
    const databaseUrl = Object.assign(new URL(through), { username: user, password: "p" }).href;
    const started = startApp({ databaseUrl });
    await expect(started).rejects.toThrow(DatabaseStartError);
    await expect(started).rejects.toThrow(/does not get the settings .*pooler.*"options"/);
  } finally {
    await runSql(home.url, `drop role ${user}`);
  }
});

it("migrations do not start behind a pooler that drops their settings, and take no lock there", async () => {
  link.dropping = true;
  const empty = await testDatabase({ empty: true });
  try {
    const url = Object.assign(new URL(empty.url), { port: String(link.port) }).href;
    const migrated = migrate({ url, migrations, log: silentLog });
    await expect(migrated).rejects.toThrow(/does not get the settings .*pooler.*"options"/);
    expect(await runSql(empty.url, "select to_regclass('schema_migrations') as found")).toEqual([{ found: null }]);
  } finally {
    await empty.close();
  }
});

it("a start behind a pooler that refuses a start-up parameter says so at once", async () => {
  // PgBouncer has this code for every refusal, such as for a server that is away.
  const fields = ["SFATAL", "C08P01", "Munsupported startup parameter: options", ""].join("\0");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + fields.length + 1);
  const answer = Buffer.concat([Buffer.from("E"), length, Buffer.from(`${fields}\0`)]);
  const pooler = createServer((socket) => socket.once("data", () => socket.end(answer)));
  await new Promise<void>((resolve) => pooler.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = pooler.address() as AddressInfo;
    const url = Object.assign(new URL(home.url), { port: String(port) }).href;
    for (const start of [() => migrate({ url, migrations, log: silentLog }), () => startApp({ databaseUrl: url })])
      await expect(start()).rejects.toThrow(/pooler in between says "unsupported startup parameter: options"/);
  } finally {
    pooler.close();
  }
});
