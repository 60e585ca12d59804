import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { losingLink } from "../support/losing-link.ts";
import type { LosingLink } from "../support/losing-link.ts";

let home: TestDatabase;
let link: LosingLink;
let app: TestApp;
beforeAll(async () => {
  home = await testDatabase();
  link = await losingLink(home.url);
  app = await startApp({ databaseUrl: link.url });
});
afterAll(async () => {
  await app.close();
  await link.close();
  await home.close();
});

it("a change of an organization is answered from what it commits, with the features of its new plan", async () => {
  const token = await app.login();
  const plan = { name: "Answers", features: ["answers", "marketplace"] };
  expect((await app.call("PUT", "/api/admin/plans/answers", { token, body: plan })).status).toBe(200);
  const { org_uuid: org } = (await app.call("GET", "/api/auth/me", { token })).body;
  // No read of the features outside the transaction is answered.
  void link.lose("orgs_features");
  const change = { name: "Acme Answers", plan: "answers" };
  const changed = await app.call("PATCH", `/api/organizations/${org}`, { token, body: change });
  expect(changed).toMatchObject({ status: 200, body: { ...change, entitlements: plan.features } });
  void link.lose("nothing");
  expect((await app.call("GET", `/api/organizations/${org}`, { token })).body).toEqual(changed.body);
});
