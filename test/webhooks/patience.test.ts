import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder } from "../support/people.ts";
import { openMarket } from "../support/market.ts";
import { persistently } from "../support/persistently.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

const DAY_MS = 86_400_000;
let app: TestApp;
const receivers: Receiver[] = [];
beforeAll(async () => {
  const env = {
    SERVICE_OPEN_SIGNUP: "1",
    SERVICE_WEBHOOK_SCHEDULE: "0s,1h,1h",
    SERVICE_WEBHOOK_TIMEOUT: "15s",
    SERVICE_TTL_PAIR: "30d",
    SERVICE_TTL_ACCESS: "30d",
  };
  app = await startApp({ role: "all", temporal: await temporalServer(), env });
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function listener(
  token: string,
  answer: Parameters<typeof startReceiver>[0],
  events = ["role.updated"],
): Promise<{ webhookId: string; receiver: Receiver }> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const made = await app.call("POST", "/api/v2/webhooks", { token, body: { url: receiver.url, events } });
  expect(made.status).toBe(201);
  return { webhookId: made.body.webhook_id as string, receiver };
}
const say = async (token: string, webhookId: string): Promise<void> => {
  expect((await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token })).status).toBe(202);
};
const statusOf = async (token: string, webhookId: string): Promise<string> =>
  (await app.call("GET", `/api/v2/webhooks/${webhookId}`, { token })).body.status as string;
const deliveries = async (token: string, webhookId: string): Promise<{ status: string; attempts: unknown[] }[]> =>
  (await app.call("GET", `/api/v2/webhooks/${webhookId}/deliveries`, { token })).body.data;

test("five days of unbroken failure disable an endpoint, fail its open deliveries and notify the organization's other webhooks", async () => {
  const owner = await founder(app);
  const { token } = owner;
  let recovers = 500;
  const [dead, shaky, other] = [
    await listener(token, () => 500),
    await listener(token, () => recovers),
    await listener(token, () => 200, ["webhook.disabled"]),
  ];
  const attempted = (webhookId: string, count: number) =>
    expect
      .poll(async () => (await deliveries(token, webhookId)).filter(({ attempts }) => attempts.length > 0).length)
      .toBe(count);
  for (const { webhookId } of [dead, shaky]) {
    await say(token, webhookId);
    await attempted(webhookId, 1);
  }
  recovers = 200;
  await say(token, shaky.webhookId);
  await attempted(shaky.webhookId, 2);
  recovers = 500;

  app.clock.advance(5 * DAY_MS - 60_000);
  for (const { webhookId } of [dead, shaky]) {
    await say(token, webhookId);
    await expect.poll(async () => (await deliveries(token, webhookId))[0]?.attempts.length).toBeGreaterThan(0);
    expect(await statusOf(token, webhookId)).toBe("enabled");
  }
  app.clock.advance(120_000);
  // A retry that was due may have met its end already.
  expect([202, 409]).toContain((await app.call("POST", `/api/v2/webhooks/${dead.webhookId}/test`, { token })).status);
  await say(token, shaky.webhookId);
  await expect.poll(() => statusOf(token, dead.webhookId)).toBe("disabled");
  expect((await deliveries(token, dead.webhookId)).map(({ status }) => status)).toEqual(
    expect.arrayContaining(["failed", "failed"]),
  );
  expect((await deliveries(token, dead.webhookId)).every(({ status }) => status === "failed")).toBe(true);
  const [told] = await other.receiver.waitFor(1, ({ event }) => event.type === "webhook.disabled");
  expect(told?.event.data).toMatchObject({ webhook_id: dead.webhookId, reason: "failing" });
  const [noted] = await auditOf(app, owner, "webhook.disabled");
  expect(noted).toMatchObject({ resource_id: dead.webhookId, metadata: { reason: "failing" } });
  await expect.poll(async () => (await deliveries(token, shaky.webhookId))[0]?.attempts.length).toBeGreaterThan(0);
  expect(await statusOf(token, shaky.webhookId)).toBe("enabled");

  expect(
    (await app.call("PATCH", `/api/v2/webhooks/${dead.webhookId}`, { token, body: { status: "enabled" } })).body.status,
  ).toBe("enabled");
  await say(token, dead.webhookId);
  await expect.poll(async () => (await deliveries(token, dead.webhookId))[0]?.attempts.length).toBe(1);
  expect(await statusOf(token, dead.webhookId)).toBe("enabled");
});

test("fifty endpoints that never respond delay neither one that does nor an install", async () => {
  const lively = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    // Longer than anything below is waited for: what waits for a dead endpoint does not arrive.
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms,100ms", SERVICE_WEBHOOK_TIMEOUT: "4m" },
  });
  const token = await lively.login();
  const register = async (answer: Parameters<typeof startReceiver>[0]) => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    const made = await lively.call("POST", "/api/v2/webhooks", {
      token,
      body: { url: receiver.url, events: ["role.updated"] },
    });
    return { receiver, webhookId: made.body.webhook_id as string };
  };
  const tell = (webhookId: string) =>
    persistently(() => lively.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token }));
  const dead = await Promise.all(Array.from({ length: 50 }, () => register(() => "hang")));
  await Promise.all(dead.flatMap(({ webhookId }) => Array.from({ length: 5 }, () => tell(webhookId))));
  const good = await register(() => 200);
  const market = await openMarket(lively);
  const offer = await market.offer(() => ({ status: 200 }));
  await Promise.all(Array.from({ length: 50 }, () => tell(good.webhookId)));
  await good.receiver.waitFor(50);
  await market.until((await offer.install()).body.install_id as string, "active");
  expect(Math.max(...dead.map(({ receiver }) => receiver.got.length))).toBeLessThanOrEqual(2);
  await Promise.all(dead.map(({ webhookId }) => lively.call("DELETE", `/api/v2/webhooks/${webhookId}`, { token })));
  await market.close();
  receivers.forEach((receiver) => void receiver.close().catch(() => undefined));
  await lively.close();
});
