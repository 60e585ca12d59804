import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

let app: TestApp;
let owner: Somebody;
const receivers: Receiver[] = [];
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,2s,1h" },
  });
  owner = await founder(app);
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function register(answer: Parameters<typeof startReceiver>[0] = () => 200) {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const { body } = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["api_key.created"] },
  });
  const path = `/api/v2/webhooks/${body.webhook_id as string}`;
  return {
    id: body.webhook_id as string,
    path,
    receiver,
    deliveries: async () =>
      (await app.call("GET", `${path}/deliveries`, { token: owner.token })).body.data as {
        delivery_id: string;
        status: string;
        attempts: { status_code: number | null }[];
      }[],
    test: async () => (await app.call("POST", `${path}/test`, { token: owner.token })).body.delivery_id as string,
    patch: async (status: string) =>
      expect((await app.call("PATCH", path, { token: owner.token, body: { status } })).status).toBe(200),
  };
}
/** Something a webhook hears of. */
const happen = () =>
  app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: owner.token,
    body: { name: "key", scopes: ["read:users"] },
  });

test.each([
  ["deleted", "delete from webhooks where webhook_id = $1"],
  ["disabled", "update webhooks set status = 'disabled' where webhook_id = $1"],
])("an event that happens while a webhook is being %s is recorded and not sent to it", async (_what, sql) => {
  const [ended, other] = [await register(), await register()];
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from webhooks where webhook_id = $1 for update", [ended.id]);
  await held.run(sql, [ended.id]);
  const happening = happen();
  await held.waitedFor();
  await held.commit();
  expect((await happening).status).toBe(201);
  await other.receiver.waitFor(1, ({ event }) => event.type === "api_key.created");
  expect(await runSql(app.databaseUrl, "select 1 from webhook_deliveries where webhook_id = $1", [ended.id])).toEqual(
    [],
  );
  expect(ended.receiver.got).toEqual([]);
});

test("a delivery that joins the retries while the last of them is delivered is sent too", async () => {
  const hook = await register((_post, nth) => (nth === 1 ? 500 : 200));
  const first = await hook.test();
  await expect.poll(async () => (await hook.deliveries())[0]?.attempts.length).toBe(1);
  // Stands for a transaction that tells of something while the retry is open, and commits when it no longer is.
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from webhooks where webhook_id = $1 for key share", [hook.id]);
  await held.run(
    "insert into webhook_events (event_id, type, body, created_at) values ('evt_joined', 'api_key.created', '{}', now())",
  );
  await held.run(
    "insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at) values (gen_random_uuid(), 'evt_joined', $1, 'pending', 'retry', now(), now())",
    [hook.id],
  );
  await hook.receiver.waitFor(2);
  await held.waitedFor();
  await held.commit();
  await hook.receiver.waitFor(1, ({ headers }) => headers["webhook-id"] === "evt_joined");
  await expect
    .poll(async () => (await hook.deliveries()).map(({ status }) => status))
    .toEqual(["delivered", "delivered"]);
  expect(
    (await hook.deliveries())
      .find(({ delivery_id: id }) => id === first)
      ?.attempts.map(({ status_code: code }) => code),
  ).toEqual([500, 200]);
});

test("an attempt in flight while a webhook is disabled is listed, and its delivery remains failed", async () => {
  const hook = await register();
  const silent = await startReceiver(() => "hang");
  expect((await app.call("PATCH", hook.path, { token: owner.token, body: { url: silent.url } })).status).toBe(200);
  await hook.test();
  await silent.waitFor(1);
  await hook.patch("disabled");
  expect(await hook.deliveries()).toMatchObject([{ status: "failed", attempts: [], next_attempt_at: null }]);
  await silent.close();
  await expect
    .poll(hook.deliveries)
    .toMatchObject([
      { status: "failed", attempts: [{ status_code: null, error: expect.any(String) }], next_attempt_at: null },
    ]);
  await hook.patch("enabled");
  expect(hook.receiver.got).toEqual([]);
});
