import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { INSTANCE_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

let app: TestApp;
let owner: Somebody;
let receiver: Receiver;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,100ms,100ms", SERVICE_WEBHOOK_TIMEOUT: "1s" },
  });
  [owner, receiver] = [await founder(app), await startReceiver()];
});
afterAll(async () => {
  await app.close();
  await receiver.close();
});

const post = (path: string) => app.call("POST", path, { token: owner.token });

async function register(): Promise<string> {
  const body = { url: receiver.url, events: ["webhook.test"] };
  return (await app.call("POST", "/api/v2/webhooks", { token: owner.token, body })).body.webhook_id as string;
}

async function rotate(webhookId: string): Promise<string> {
  const { status, body } = await post(`/api/webhooks/${webhookId}/rotate-secret`);
  expect(status).toBe(200);
  return body.new_secret as string;
}

/** Sends a test event; resolves to its delivery once it is settled. */
async function sent(webhookId: string) {
  const id = (await post(`/api/v2/webhooks/${webhookId}/test`)).body.delivery_id as string;
  const read = async () =>
    (await app.call("GET", `/api/v2/webhooks/${webhookId}/deliveries/${id}`, { token: owner.token })).body;
  await expect.poll(async () => (await read()).status).not.toBe("pending");
  return read();
}

it("a secret that was rotated by an id in upper case signs, and events carry the id in lower case", async () => {
  const webhookId = await register();
  const secret = await rotate(webhookId.toUpperCase());
  expect(await sent(webhookId.toUpperCase())).toMatchObject({ status: "delivered" });
  const [got] = await receiver.waitFor(1, ({ event }) => event.data.webhook_id === webhookId);
  new Webhook(secret).verify(got?.body ?? "", got?.headers as Record<string, string>);
  const [event] = await auditOf(app, owner, "key.rotated");
  expect(event).toMatchObject({ resource_id: webhookId, metadata: { webhook_id: webhookId } });
});

it("an attempt whose secret cannot be opened fails with a reason, until the secret is rotated", async () => {
  const webhookId = await register();
  const box = createSealer(INSTANCE_KEY).seal("whsec_x", `webhook-secret:${webhookId.toUpperCase()}`);
  await runSql(app.databaseUrl, "update webhooks set secret = $2 where webhook_id = $1", [webhookId, box]);
  const failed = await sent(webhookId);
  expect(failed).toMatchObject({ status: "failed" });
  expect(failed.attempts).toHaveLength(3);
  for (const attempt of failed.attempts)
    expect(attempt).toMatchObject({ status_code: null, error: expect.stringContaining("rotate the secret") as string });
  // The secret that it replaces does not sign either, although its overlap has begun.
  const secret = await rotate(webhookId);
  expect(await sent(webhookId)).toMatchObject({ status: "delivered" });
  const [got] = await receiver.waitFor(1, ({ event }) => event.data.webhook_id === webhookId);
  new Webhook(secret).verify(got?.body ?? "", got?.headers as Record<string, string>);
  expect(String(got?.headers["webhook-signature"]).split(" ")).toHaveLength(1);
});
