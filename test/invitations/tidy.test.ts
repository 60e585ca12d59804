import { afterAll, beforeAll, expect, it } from "vitest";
import { deleteExpiredInvitations } from "../../src/domains/invitations/store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("tidying deletes invitations in any state by the time of their expiry", async () => {
  const by = await founder(app);
  const [withdrawn, expired] = [
    await invite(app, by, "withdrawn@guests.test"),
    await invite(app, by, "expired@guests.test"),
  ];
  const end = await app.call("DELETE", `/api/admin/organizations/${by.org}/invitations/${withdrawn.id}`, {
    token: by.token,
  });
  expect(end.status).toBe(204);
  const expiry = Date.parse(expired.answer.body.expires_at);
  app.clock.advance(60_000);
  const open = await invite(app, by, "open@guests.test");

  const database = await openDatabase({
    url: app.databaseUrl,
    entities: [],
    migrations,
    clock: app.clock,
    log: silentLog,
  });
  expect(await deleteExpiredInvitations(database, new Date(expiry))).toBe(0);
  expect(await deleteExpiredInvitations(database, new Date(expiry + 1))).toBe(2);
  await database.close();
  expect(await runSql(app.databaseUrl, "select uuid from invitations where org_uuid = $1", [by.org])).toEqual([
    { uuid: open.id },
  ]);
});
