import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { draftOf } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";

let app: TestApp;
let temporal: { address: string; namespace: string };
beforeAll(async () => {
  temporal = await temporalServer();
  app = await startApp({
    role: "all",
    temporal,
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,1h,1h", SERVICE_WEBHOOK_TIMEOUT: "1s" },
  });
});
afterAll(() => app.close());

async function register(by: Somebody, body: Record<string, unknown>): Promise<string> {
  const answer = await app.call("POST", "/api/v2/webhooks", { token: by.token, body });
  expect(answer.status).toBe(201);
  return answer.body.webhook_id as string;
}
const say = (by: Somebody, webhookId: string) =>
  app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token: by.token });
const rows = (webhookId: string) =>
  runSql<{ type: string; status: string; tries: number; next_attempt_at: Date | null }>(
    app.databaseUrl,
    `select e.type, d.status, d.tries, d.next_attempt_at from webhook_deliveries d join webhook_events e using (event_id) where d.webhook_id = '${webhookId}' order by d.created_at`,
  );
async function until(check: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 25)))
    if (await check()) return;
  throw new Error("it never came to that");
}

test("webhooks of a deleted organization receive its deletion once and nothing afterwards", async () => {
  const by = await founder(app);
  const [good, bad] = [await startReceiver(), await startReceiver(() => 500)];
  const hears = await register(by, { url: good.url, events: ["*"] });
  const fails = await register(by, { url: bad.url, events: ["*"] });
  await say(by, fails);
  // The first attempt fails, the next is an hour away: the endpoint's workflow waits for it.
  await until(async () => (await rows(fails))[0]?.tries === 1);
  const connection = await Connection.connect({ address: temporal.address });
  const workflow = new Client({ connection, namespace: temporal.namespace }).workflow.getHandle(
    `webhook-retries/${fails}`,
  );
  const state = async () => (await workflow.describe()).status.name;
  await until(() =>
    state().then(
      (name) => name === "RUNNING",
      () => false,
    ),
  );

  expect(
    (await app.call("DELETE", `/api/organizations/${by.org}`, { token: await elevated(app, by.token) })).status,
  ).toBe(204);
  const [farewell] = await good.waitFor(1, ({ event }) => event.type === "organization.deleted");
  expect(farewell?.event).toMatchObject({ org_uuid: by.org, data: { org_uuid: by.org, name: by.orgName } });
  await until(async () => (await rows(fails)).every(({ status }) => status === "failed"));
  expect((await rows(fails)).map(({ type, tries, next_attempt_at }) => ({ type, tries, next_attempt_at }))).toEqual([
    { type: "webhook.test", tries: 1, next_attempt_at: null },
    ...(await rows(fails)).slice(1).map(({ type }) => ({ type, tries: 1, next_attempt_at: null })),
  ]);
  await until(async () => (await state()) === "COMPLETED");
  const hooks = await runSql(
    app.databaseUrl,
    `select 1 from webhooks where webhook_id in ('${hears}', '${fails}') and status = 'disabled' and ended_at is not null`,
  );
  expect(hooks).toHaveLength(2);
  await Promise.all([connection.close(), good.close(), bad.close()]);
});

test("the deletion of an organization is told to no disabled webhook of it, and to none of its apps", async () => {
  const by = await founder(app);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const draft = draftOf(`t${randomUUID()}`, "https://example.com/provision");
  const published = await app.call("POST", "/api/marketplace/apps", { token: by.token, body: draft });
  const hook = { url: receiver.url, events: ["*"] };
  const disabled = await register(by, hook);
  const body = { status: "disabled" };
  expect((await app.call("PATCH", `/api/v2/webhooks/${disabled}`, { token: by.token, body })).status).toBe(200);
  const ofApp = await register(by, { ...hook, scope: "app", app_id: published.body.app_id });
  const enabled = await register(by, hook);
  const token = await elevated(app, by.token);
  expect((await app.call("DELETE", `/api/organizations/${by.org}`, { token })).status).toBe(204);
  const told = async (id: string) => (await rows(id)).filter(({ type }) => type === "organization.deleted").length;
  expect([await told(enabled), await told(disabled), await told(ofApp)]).toEqual([1, 0, 0]);
});

test("an app's webhook ends with its publisher, for a platform administrator too", async () => {
  const by = await founder(app);
  const published = await app.call("POST", "/api/marketplace/apps", {
    token: by.token,
    body: draftOf("ends-with-us", "https://example.com/provision"),
  });
  const webhookId = await register(by, {
    url: "https://example.com/hook",
    events: ["app.published"],
    scope: "app",
    app_id: published.body.app_id,
  });
  const platform = await app.login();
  expect(outcome(await app.call("GET", `/api/v2/webhooks/${webhookId}`, { token: platform }))).toBe("200");
  expect(
    (await app.call("DELETE", `/api/organizations/${by.org}`, { token: await elevated(app, by.token) })).status,
  ).toBe(204);
  for (const [method, path, body] of [
    ["GET", ""],
    ["PATCH", "", { status: "enabled" }],
    ["POST", "/test"],
    ["GET", "/deliveries"],
    ["DELETE", ""],
  ] as const) {
    expect(
      outcome(await app.call(method, `/api/v2/webhooks/${webhookId}${path}`, { token: platform, body })),
      method + path,
    ).toBe("404 not_found");
  }
});
