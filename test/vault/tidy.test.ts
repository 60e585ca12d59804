import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteNames, deleteVersions } from "../../src/domains/vault/tidy-store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
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
