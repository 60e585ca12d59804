import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { founder } from "../support/people.ts";
import { losingLink } from "../support/losing-link.ts";
import { runSql } from "../support/postgres.ts";
import { directoryOf, PATCH_URN } from "./support.ts";

let home: TestDatabase;
let link: FlakyLink;
let app: TestApp;
beforeAll(async () => {
  home = await testDatabase();
  const url = new URL(home.url);
  link = await flakyLink({ host: url.hostname, port: Number(url.port) });
  url.port = String(link.port);
  app = await startApp({ databaseUrl: url.href, env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(async () => {
  await app.close();
  await link.close();
  await home.close();
});

test("a bulk request returns 503 when the database falls silent before an operation took effect", async () => {
  const directory = await directoryOf(app, await founder(app));
  const { id } = await directory.user({ userName: "ann@people.test" });
  const data = { schemas: [PATCH_URN], Operations: [{ op: "replace", path: "displayName", value: "Ann" }] };
  const body = {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
    Operations: Array.from({ length: 10 }, () => ({ method: "PATCH", path: `/Users/${id}`, data })),
  };
  const other = new pg.Client(home.url);
  await other.connect();
  await other.query("begin; lock table scim_users in access exclusive mode");
  const answer = directory.call("POST", "/Bulk", body);
  const blocked = async (): Promise<number> =>
    (await runSql(home.url, "select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length;
  await expect.poll(blocked).toBeGreaterThan(0);
  link.deafen();
  const { status, headers } = await answer;
  await link.restore();
  await other.end();
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
});

test("a bulk request goes on after a single lost connection", async () => {
  const losing = await losingLink(home.url);
  const second = await startApp({ databaseUrl: losing.url });
  const directory = await directoryOf(second, await founder(app));
  const { id } = await directory.user({ userName: "bob@people.test" });
  const changes = ["first", "second", "third"].map((value) => ({
    method: "PATCH",
    path: `/Users/${id}`,
    data: { schemas: [PATCH_URN], Operations: [{ op: "replace", path: "title", value }] },
  }));
  const lost = losing.lose("update scim_users");
  const { status, body } = await directory.call("POST", "/Bulk", {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
    Operations: changes,
  });
  await lost;
  expect([status, ...body.Operations.map((one: { status: string }) => one.status)]).toEqual([200, "503", "200", "200"]);
  await second.close();
  await losing.close();
});
