import { afterAll, beforeAll, expect, it } from "vitest";
import { recordPlanEnds } from "../../src/domains/operator/settings-store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";

const DAY_MS = 86_400_000;

let app: TestApp;
let operator: string;
let database: OpenDatabase;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  operator = await app.login();
  database = await openDatabase({ url: app.databaseUrl, entities: [], migrations, clock: app.clock, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await app.close();
});

/** What the service does from time to time, as if it were so many days ago. */
const record = (daysAgo: number): Promise<number> =>
  recordPlanEnds(database.background, new Date(Date.now() - daysAgo * DAY_MS));
const setPlan = (org: string, plan: string): Promise<Answer> =>
  app.call("PATCH", `/api/organizations/${org}`, { token: operator, body: { plan } });
const setDays = async (org: string, days: number): Promise<void> => {
  const body = { org_uuid: org, audit_retention_days: days };
  expect((await app.call("POST", "/api/operator/config", { token: operator, body })).status).toBe(200);
};
const daysOf = async (org: string): Promise<number> =>
  (await app.call("GET", `/api/operator/config?org_uuid=${org}`, { token: operator })).body.audit_retention_days;

/** Two organizations that had the plan enterprise and a retention of a year. */
async function downgraded(): Promise<[string, string]> {
  // What a test before left to be recorded.
  await record(0);
  const [{ org: one }, { org: other }] = [await founder(app), await founder(app)];
  for (const org of [one, other]) {
    await setPlan(org, "enterprise");
    await setDays(org, 365);
  }
  expect(await record(0)).toBe(0);
  for (const org of [one, other]) await setPlan(org, "pro");
  return [one, other];
}

it("a longer retention stays for 30 days from when the plan enterprise ended", async () => {
  const [recent, earlier] = await downgraded();
  expect(await record(29)).toBe(2);
  expect([await daysOf(recent), await daysOf(earlier)]).toEqual([365, 365]);
  expect(await record(0)).toBe(0);
  await setPlan(earlier, "enterprise");
  expect(await record(0)).toBe(1);
  await setPlan(earlier, "free");
  expect(await record(31)).toBe(1);
  expect([await daysOf(recent), await daysOf(earlier)]).toEqual([365, 90]);
});

it("an organization that has the plan enterprise again has its longer retention again, and 30 days anew", async () => {
  const [back, renewed] = await downgraded();
  expect(await record(31)).toBe(2);
  expect([await daysOf(back), await daysOf(renewed)]).toEqual([90, 90]);
  for (const org of [back, renewed]) await setPlan(org, "enterprise");
  expect([await daysOf(back), await daysOf(renewed)]).toEqual([365, 365]);
  await setDays(renewed, 200);
  expect(await record(0)).toBe(1);
  for (const org of [back, renewed]) await setPlan(org, "free");
  expect([await daysOf(back), await daysOf(renewed)]).toEqual([365, 200]);
});
