import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteNames, deleteVersions } from "../../src/domains/vault/tidy-store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let database: OpenDatabase;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_PAIR: "60d" } });
  const { databaseUrl: url, clock } = app;
  database = await openDatabase({ url, entities: [], migrations, clock, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await app.close();
});

const stored = async (who: Somebody): Promise<string[]> => {
  const rows = await runSql<{ version: string }>(
    app.databaseUrl,
    `select s.name || ' ' || coalesce(v.version, 0) as version
     from vault_secrets s left join vault_versions v using (secret_id) where org_uuid = $1 order by 1`,
    [who.org],
  );
  return rows.map(({ version }) => version);
};

async function tidy(): Promise<void> {
  const at = new Date(app.clock.now());
  while ((await deleteVersions(database, at)) + (await deleteNames(database, at)) > 0);
}

test("tidying removes deleted secrets after 30 days, and what a write to a deleted name left at once", async () => {
  const who = await founder(app);
  const secrets = secretsOf(app, who);
  for (const name of ["kept", "rewritten", "gone"]) for (const value of ["1", "2"]) await secrets.put(name, value);
  await secrets.remove("gone");
  await secrets.remove("rewritten");
  await secrets.put("rewritten", "3");
  expect(await stored(who)).toHaveLength(7);
  await tidy();
  expect(await stored(who)).toEqual(["gone 1", "gone 2", "kept 1", "kept 2", "rewritten 3"]);
  app.clock.advance(30 * 86_400_000 - 1);
  await tidy();
  expect(await stored(who)).toHaveLength(5);
  app.clock.advance(1);
  await tidy();
  expect(await stored(who)).toEqual(["kept 1", "kept 2", "rewritten 3"]);
  expect((await secrets.put("gone", "new")).body.version).toBe(1);
  expect((await secrets.get("rewritten")).body.value).toBe("3");
});

test("the end of an organization deletes its key at once, and tidying its secrets", async () => {
  const who = await founder(app);
  await secretsOf(app, who).put("one", "value");
  const token = await elevated(app, who.token);
  expect(outcome(await app.call("DELETE", `/api/organizations/${who.org}`, { token }))).toBe("204");
  const keys = "select 1 from vault_keyrings where org_uuid = $1";
  expect(await runSql(app.databaseUrl, keys, [who.org])).toEqual([]);
  await tidy();
  expect(await stored(who)).toEqual([]);
});

test("tidying does not wait for a version that a rotation rewraps, and removes it afterwards", async () => {
  const who = await founder(app);
  const secrets = secretsOf(app, who);
  for (const name of ["one", "two"]) await secrets.put(name, "value");
  for (const name of ["one", "two"]) await secrets.remove(name);
  await secrets.put("two", "written again");
  app.clock.advance(30 * 86_400_000);
  const held = await holding(app.databaseUrl);
  const ofThem = "secret_id in (select secret_id from vault_secrets where org_uuid = $1)";
  await held.run(`update vault_versions set wrapped_key = wrapped_key where version = 1 and ${ofThem}`, [who.org]);
  const tidying = tidy().then(() => "done");
  expect(await Promise.race([tidying, held.waitedFor().then(() => "waits")])).toBe("done");
  expect(await stored(who)).toEqual(["one 1", "two 1", "two 2"]);
  await held.commit();
  await tidy();
  expect(await stored(who)).toEqual(["two 2"]);
});

test("a secret that is restored at the last moment keeps its versions, whatever the tidying clock says", async () => {
  const who = await founder(app);
  const secrets = secretsOf(app, who);
  await secrets.put("last", "value");
  await secrets.remove("last");
  const held = await holding(app.databaseUrl);
  // Stands for the restoration, which has not committed.
  await held.run("update vault_secrets set deleted_at = null, restorable_until = null where org_uuid = $1", [who.org]);
  const late = new Date(app.clock.now() + 31 * 86_400_000);
  const tidying = deleteVersions(database, late);
  await Promise.race([tidying, held.waitedFor()]);
  await held.commit();
  await tidying;
  expect((await secrets.get("last")).body.value).toBe("value");
});
