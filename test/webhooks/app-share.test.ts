import { afterAll, beforeAll, expect, it } from "vitest";
import { refreshed } from "../marketplace/stage.ts";
import { done, publishApp } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const register = (by: Somebody, more: object = {}) =>
  persistently(() =>
    app.call("POST", "/api/v2/webhooks", { token: by.token, body: { url: "https://a.test/", events: ["*"], ...more } }),
  );

/** Copies a webhook. */
const copy = (webhookId: string, times: number) =>
  runSql(
    app.databaseUrl,
    `insert into webhooks (webhook_id, org_uuid, scope, app_id, url, events, status, secret, created_at, updated_at)
     select gen_random_uuid(), org_uuid, scope, app_id, url, events, status, secret, created_at, updated_at
     from webhooks, generate_series(1, $2) where webhook_id = $1`,
    [webhookId, times],
  );

it("an app's administrators leave half of the webhooks to the organization, under parallel requests too", async () => {
  const owner = await founder(app);
  const [employee, admin] = [await member(app, owner, 3), await member(app, owner, 1)];
  const { appId } = await publishApp(app, employee.token);
  const ofApp = { scope: "app", app_id: appId };
  const first = done(await register(employee, ofApp))["webhook_id"] ?? "";
  await copy(first, 495);
  const rush = await Promise.all(Array.from({ length: 12 }, () => register(employee, ofApp)));
  expect(rush.map(outcome).toSorted()).toEqual([
    ...Array<string>(4).fill("201"),
    ...Array<string>(8).fill("409 conflict"),
  ]);
  const ofOrganization = done(await register(admin))["webhook_id"] ?? "";
  await copy(ofOrganization, 498);
  expect(outcome(await register(admin))).toBe("201");
  expect(outcome(await register(admin))).toBe("409 conflict");
  const path = `/api/v2/webhooks/${first}`;
  expect(outcome(await app.call("DELETE", path, { token: employee.token }))).toBe("204");
  expect(outcome(await register(employee, ofApp))).toBe("201");
  expect(outcome(await register(employee, ofApp))).toBe("409 conflict");
});

it("an app's webhook hears events of apps and installs alone, whether it is registered or changed", async () => {
  const owner = await founder(app);
  const { appId } = await publishApp(app, owner.token);
  const ofApp = { scope: "app", app_id: appId };
  const faults = async (events: string[]) => {
    const { webhook_id } = done(await register(owner, ofApp));
    const path = `/api/v2/webhooks/${webhook_id}`;
    const answers = [
      await register(owner, { ...ofApp, events }),
      await app.call("PATCH", path, { token: owner.token, body: { events } }),
    ];
    return answers.map(({ status, body }) => (status === 400 ? `400 ${body.code} ${body.errors[0].field}` : status));
  };
  expect(await faults(["app.archived", "install.active"])).toEqual([201, 200]);
  for (const event of ["user.created", "session.revoked", "webhook.disabled"])
    expect(await faults(["*", event]), event).toEqual(Array<string>(2).fill("400 validation_error events"));
});

it("an owner manages the webhooks of every app, also of those that a list of 1,000 has not", async () => {
  const owner = await founder(app);
  // Whoever makes an app is granted it.
  const employee = await member(app, owner, 3);
  const { appId } = await publishApp(app, employee.token);
  const { webhook_id: id } = done(await register(employee, { scope: "app", app_id: appId }));
  await runSql(
    app.databaseUrl,
    `with copy as (select n, 'newer-' || $1::uuid || n as slug from generate_series(1, 1000) n),
       slugs as (insert into app_slugs (slug) select slug from copy)
     insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents,
       currency, plans, provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at)
     select gen_random_uuid(), org_uuid, copy.slug, name, description, deployment_modes, pricing_model,
       base_price_cents, currency, plans, provision_webhook, webhook_secret, 'draft', created_by, key_id,
       created_at + n * interval '1 second', updated_at
     from apps, copy where app_id = $1`,
    [appId],
  );
  const token = await refreshed(app, owner);
  const path = `/api/v2/webhooks/${id}`;
  const calls = [
    ["GET", path],
    ["PATCH", path, { events: ["app.published"] }],
    ["POST", `${path}/test`],
    ["GET", `${path}/deliveries`],
    ["DELETE", path],
  ] as const;
  const listed = done(await app.call("GET", "/api/v2/webhooks", { token }))["data"] as unknown as object[];
  const answers: string[] = [];
  for (const [method, to, body] of calls)
    answers.push(outcome(await app.call(method, to, { token, ...(body !== undefined && { body }) })));
  expect([listed.length, ...answers]).toEqual([1, "200", "200", "202", "200", "204"]);
});
