import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { draftOf } from "../support/market.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { must, publish } from "./stage.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("nothing that is created while an organization is deleted outlives it", async () => {
  const [platform, publisher, { token, org }] = [await app.login(), await founder(app), await founder(app)];
  const [offered, own] = [await publish(app, publisher.token, {}, platform), await publish(app, token)];
  const strong = await elevated(app, token);

  // The end of the organization has begun and is not committed: it waits for its app.
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from apps where app_id = $1 for update", [own.appId]);
  const end = app.call("DELETE", `/api/organizations/${org}`, { token: strong });
  await held.waitedFor(1);
  const hook = { url: "https://example.com/hook", events: ["*"] };
  const making = [
    app.call("POST", "/api/marketplace/apps", {
      token,
      body: draftOf("made-at-the-end", "https://example.com/provision"),
    }),
    app.call("POST", `/api/marketplace/${offered.slug}/install`, { token, body: {} }),
    app.call("POST", "/api/v2/webhooks", { token, body: hook }),
    app.call("POST", "/api/v2/webhooks", {
      token: platform,
      body: { ...hook, events: ["install.active"], scope: "app", app_id: own.appId },
    }),
  ];
  await held.waitedFor(1 + making.length);
  await held.commit();

  expect((await end).status).toBe(204);
  expect((await Promise.all(making)).map(outcome)).toEqual([
    "401 unauthorized",
    "401 unauthorized",
    "401 unauthorized",
    "404 app_not_found",
  ]);
  for (const [table, live] of [
    ["apps", "status <> 'archived'"],
    ["installs", "true"],
    ["webhooks", "ended_at is null"],
  ] as const) {
    expect(
      await runSql(app.databaseUrl, `select 1 from ${table} where org_uuid = $1 and ${live}`, [org]),
      table,
    ).toEqual([]);
  }
  must(
    await app.call("POST", "/api/marketplace/apps", {
      token: publisher.token,
      body: draftOf("made-at-the-end", "https://example.com/provision"),
    }),
  );
});
