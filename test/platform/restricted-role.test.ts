import { afterAll, beforeAll, expect, it } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { DatabaseStartError, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { ServiceError } from "../../src/platform/errors.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { optionDropper } from "../support/option-dropper.ts";
import type { OptionDropper } from "../support/option-dropper.ts";

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
