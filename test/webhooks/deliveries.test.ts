import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,200ms,200ms,300ms", SERVICE_WEBHOOK_TIMEOUT: "1s" },
  });
  token = await app.login();
});
afterAll(() => app.close());

const register = async (url: string, events: string[] = ["*"]) => {
  const answer = await app.call("POST", "/api/v2/webhooks", { token, body: { url, events } });
  expect(answer.status).toBe(201);
  return answer.body as { webhook_id: string; secret: string };
};
const deliveries = async (webhookId: string) =>
  (await app.call("GET", `/api/v2/webhooks/${webhookId}/deliveries`, { token })).body.data;
const settled = async (webhookId: string) => {
  for (let attempt = 0; attempt < 4_800; attempt++) {
    const rows = await deliveries(webhookId);
    if (rows.length > 0 && rows.every((row: { status: string }) => row.status !== "pending")) return rows;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("deliveries stay pending");
};

describe("a delivery", () => {
  test("a delivery is listed, and stock libraries verify its signature", async () => {
    const receiver = await startReceiver();
    const { webhook_id: webhookId, secret } = await register(receiver.url);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const sent = await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token });
    expect(sent.status).toBe(202);
    const [post] = await receiver.waitFor(1);
    if (post === undefined) throw new Error("nothing came");
    expect(new Webhook(secret).verify(post.body, post.headers as Record<string, string>)).toMatchObject({
      type: "webhook.test",
      data: { webhook_id: webhookId },
    });
    const [, time = "", hex = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(post.headers["service-signature"])) ?? [];
    expect(createHmac("sha256", secret).update(`${time}.${post.body}`).digest("hex")).toBe(hex);
    expect(post.headers["webhook-id"]).toBe(post.event.id);
    const [row] = await settled(webhookId);
    expect(row).toMatchObject({
      delivery_id: sent.body.delivery_id,
      event_id: post.event.id,
      event_type: "webhook.test",
      status: "delivered",
      next_attempt_at: null,
    });
    expect(row.attempts).toMatchObject([{ status_code: 200, error: null }]);
    await receiver.close();
  });

  test("a delivery is retried with the same id until the endpoint responds with success", async () => {
    const receiver = await startReceiver((_post, nth) => (nth < 3 ? 500 : 204));
    const { webhook_id: webhookId } = await register(receiver.url);
    await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token });
    await receiver.waitFor(3);
    const [row] = await settled(webhookId);
    expect(row.status).toBe("delivered");
    expect(row.attempts.map((attempt: { status_code: number }) => attempt.status_code)).toEqual([500, 500, 204]);
    expect(new Set(receiver.got.map((post) => post.headers["webhook-id"])).size).toBe(1);
    await receiver.close();
  });

  test("a delivery fails at the end of the schedule and can be repeated on request", async () => {
    let status = 503;
    const receiver = await startReceiver(() => status);
    const { webhook_id: webhookId } = await register(receiver.url);
    await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token });
    const [row] = await settled(webhookId);
    expect(row).toMatchObject({ status: "failed", next_attempt_at: null });
    expect(row.attempts).toHaveLength(4);
    status = 200;
    const again = await app.call("POST", `/api/v2/webhooks/${webhookId}/deliveries/${row.delivery_id}/redeliver`, {
      token,
    });
    expect(again).toMatchObject({ status: 202, body: { status: "pending", event_id: row.event_id } });
    const [after] = await settled(webhookId);
    expect(after).toMatchObject({ status: "delivered" });
    expect(after.attempts).toHaveLength(5);
    await receiver.close();
  });

  test("a response of 410 disables the webhook at once", async () => {
    const receiver = await startReceiver(() => 410);
    const { webhook_id: webhookId } = await register(receiver.url);
    await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token });
    const [row] = await settled(webhookId);
    expect(row.status).toBe("failed");
    expect((await app.call("GET", `/api/v2/webhooks/${webhookId}`, { token })).body.status).toBe("disabled");
    expect((await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token })).status).toBe(409);
    await receiver.close();
  });

  test("a delivery is signed with both secrets during the overlap of a rotation", async () => {
    const receiver = await startReceiver();
    const { webhook_id: webhookId, secret } = await register(receiver.url);
    const rotated = await app.call("POST", `/api/webhooks/${webhookId}/rotate-secret`, { token });
    expect(rotated.status).toBe(200);
    await app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token });
    const [post] = await receiver.waitFor(1);
    for (const each of [secret, rotated.body.new_secret as string])
      new Webhook(each).verify(post?.body ?? "", post?.headers as Record<string, string>);
    expect(String(post?.headers["webhook-signature"]).split(" ")).toHaveLength(2);
    await receiver.close();
  });

  test("a slow endpoint does not delay deliveries to other endpoints", async () => {
    const dead = await Promise.all(Array.from({ length: 10 }, () => startReceiver(() => "hang")));
    const good = await startReceiver();
    const hooks = await Promise.all(dead.map((receiver) => register(receiver.url)));
    const { webhook_id: webhookId } = await register(good.url);
    await Promise.all(hooks.map((hook) => app.call("POST", `/api/v2/webhooks/${hook.webhook_id}/test`, { token })));
    await Promise.all(
      Array.from({ length: 20 }, () => app.call("POST", `/api/v2/webhooks/${webhookId}/test`, { token })),
    );
    await good.waitFor(20);
    expect(dead.every((receiver) => receiver.got.length <= 2)).toBe(true);
    await Promise.all([
      ...hooks.map((hook) => app.call("DELETE", `/api/v2/webhooks/${hook.webhook_id}`, { token })),
      ...[...dead, good].map((receiver) => receiver.close()),
    ]);
  });
});

describe("registration", () => {
  test("registration refuses addresses that cannot be called and unknown events", async () => {
    for (const url of ["ftp://example.com", "http://10.0.0.1/", "http://user:pass@example.com/", "not a url"]) {
      expect(await app.call("POST", "/api/v2/webhooks", { token, body: { url, events: ["*"] } })).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "url" }] },
      });
    }
    const unknown = await app.call("POST", "/api/v2/webhooks", {
      token,
      body: { url: "https://example.com/", events: ["user.exploded"] },
    });
    expect(unknown).toMatchObject({ status: 400, body: { code: "validation_error" } });
  });

  test("registration requires an app with the scope app and refuses one otherwise", async () => {
    const wish = { url: "https://example.com/", events: ["app.archived"] };
    for (const more of [
      { scope: "app" },
      { app_id: "5b2b6b52-0000-4000-8000-000000000000" },
      { scope: "org", app_id: "5b2b6b52-0000-4000-8000-000000000000" },
    ]) {
      expect(
        await app.call("POST", "/api/v2/webhooks", { token, body: { ...wish, ...more } }),
        JSON.stringify(more),
      ).toMatchObject({ status: 400, body: { code: "validation_error", errors: [{ field: "app_id" }] } });
    }
    expect(
      await app.call("POST", "/api/v2/webhooks", {
        token,
        body: { ...wish, scope: "app", app_id: "5b2b6b52-0000-4000-8000-000000000000" },
      }),
    ).toMatchObject({ status: 404, body: { code: "app_not_found" } });
  });

  test("a PATCH with an empty list of events is refused, and without events leaves them unchanged", async () => {
    const { webhook_id: webhookId } = await register("https://example.com/patched", ["user.created"]);
    const patch = (body: unknown) => app.call("PATCH", `/api/v2/webhooks/${webhookId}`, { token, body });
    expect(await patch({ events: [] })).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "events" }] },
    });
    expect(await patch({ url: "https://example.com/moved" })).toMatchObject({
      status: 200,
      body: { url: "https://example.com/moved", events: ["user.created"] },
    });
    expect(await patch({ events: ["*"] })).toMatchObject({ status: 200, body: { events: ["*"] } });
    const unknown = "/api/v2/webhooks/0b1d2a3e-aaaa-4000-8000-00000000000f";
    expect(await app.call("PATCH", unknown, { token, body: { url: "ftp://example.com" } })).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "url" }] },
    });
    expect(await patch({ url: "http://169.254.169.254/" })).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field: "url" }] },
    });
  });

  test("a webhook's secret is returned once, and DELETE returns 404 afterwards", async () => {
    const { webhook_id: webhookId } = await register("https://example.com/hook", ["user.created"]);
    const read = await app.call("GET", `/api/v2/webhooks/${webhookId}`, { token });
    expect(read.body).toEqual({
      webhook_id: webhookId,
      url: "https://example.com/hook",
      events: ["user.created"],
      scope: "org",
      status: "enabled",
      created_at: expect.any(String),
    });
    expect((await app.call("DELETE", `/api/v2/webhooks/${webhookId}`, { token })).status).toBe(204);
    expect(await app.call("GET", `/api/v2/webhooks/${webhookId}`, { token })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  });
});
