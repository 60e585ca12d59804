import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { temporalServer } from "../support/temporal.ts";

const DAY_MS = 86_400_000;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/u;

let app: TestApp;
let token: string;
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_TIMEOUT: "4m" };
  app = await startApp({ role: "all", temporal: await temporalServer(), env });
});
beforeEach(async () => {
  ({ token } = await founder(app));
});
afterAll(() => app.close());

const call = async (method: string, path: string, body?: object) => {
  const answer = await app.call(method, path, { token, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};
const register = (url: string) => call("POST", "/api/v2/webhooks", { url, events: ["user.created", "svid.issued"] });

it("a secret is in the answers to registration and rotation alone, with the end of the one before", async () => {
  const { secret, ...shown } = await register("http://127.0.0.1:9/");
  expect(secret).toMatch(SECRET);
  expect(shown).toEqual({
    webhook_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
    url: "http://127.0.0.1:9/",
    events: ["user.created", "svid.issued"],
    scope: "org",
    status: "enabled",
    created_at: new Date(app.clock.now()).toISOString(),
  });
  const path = `/api/v2/webhooks/${shown.webhook_id as string}`;
  const rotated = await call("POST", `/api/webhooks/${shown.webhook_id as string}/rotate-secret`);
  expect(rotated).toEqual({
    new_secret: expect.stringMatching(SECRET),
    old_secret_expires_at: new Date(app.clock.now() + DAY_MS).toISOString(),
  });
  expect(rotated.new_secret).not.toBe(secret);
  expect(await call("GET", path)).toEqual(shown);
  expect(await call("GET", "/api/v2/webhooks")).toEqual({ data: [shown], total: 1, limit: 50, offset: 0 });
  expect(await call("PATCH", path, { events: ["*"] })).toEqual({ ...shown, events: ["*"] });
});

it("an attempt is listed with the beginning of the response, or with the reason why there is none", async () => {
  const long = "é".repeat(40_000);
  let body = long;
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { webhook_id } = await register(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const path = `/api/v2/webhooks/${webhook_id as string}`;
  const attempted = async () => {
    const { delivery_id } = await call("POST", `${path}/test`);
    const read = () => call("GET", `${path}/deliveries/${delivery_id as string}`);
    await expect.poll(async () => (await read()).attempts).toHaveLength(1);
    const { status, attempts } = await read();
    return { status, attempt: attempts[0] };
  };
  const attempt = { at: expect.any(String), duration_ms: expect.any(Number), status_code: 200, error: null };
  expect(await attempted()).toEqual({
    status: "delivered",
    attempt: { ...attempt, response: long.slice(0, 2_048) },
  });
  body = "";
  expect(await attempted()).toEqual({ status: "delivered", attempt: { ...attempt, response: null } });
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  expect(await attempted()).toEqual({
    status: "pending",
    attempt: { ...attempt, status_code: null, error: expect.stringMatching(/\w/u), response: null },
  });
});
