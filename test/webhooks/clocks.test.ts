import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";

const HOUR = 3_600_000;
/** The clock of a machine that is an hour ahead, or behind. */
const wrong = (byMs: number): Clock => ({ now: () => Date.now() + byMs, isMachine: true });
const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,1s,1s,1h" };
let temporal: { address: string; namespace: string };
let ahead: TestApp;
let owner: Somebody;
beforeAll(async () => {
  temporal = await temporalServer();
  ahead = await startApp({ clock: wrong(HOUR), env });
  owner = await founder(ahead);
});
afterAll(() => ahead.close());

it.each([
  ["right", systemClock],
  ["an hour behind", wrong(-HOUR)],
  ["an hour ahead", wrong(HOUR)],
])("an instance whose clock is %s does at once what an instance an hour ahead has queued", async (_what, clock) => {
  const works = await startApp({ role: "worker", temporal, clock, env, databaseUrl: ahead.databaseUrl });
  const receiver = await startReceiver((_post, nth) => (nth < 3 ? 500 : 200));
  const { body } = await ahead.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["user.created"] },
  });
  const path = `/api/v2/webhooks/${body.webhook_id as string}`;
  expect((await ahead.call("POST", `${path}/test`, { token: owner.token })).status).toBe(202);
  await receiver.waitFor(3);
  await expect
    .poll(async () => (await ahead.call("GET", `${path}/deliveries`, { token: owner.token })).body.data)
    .toMatchObject([{ status: "delivered" }]);
  await expect.poll(() => runSql(ahead.databaseUrl, "select topic from outbox")).toEqual([]);
  expect(receiver.got).toHaveLength(3);
  await works.close();
  await receiver.close();
});

it("an instance whose clock is an hour ahead respects the leases of another", async () => {
  const receiver = await startReceiver();
  const { body } = await ahead.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["user.created"] },
  });
  const path = `/api/v2/webhooks/${body.webhook_id as string}`;
  const test = async () =>
    (await ahead.call("POST", `${path}/test`, { token: owner.token })).body.delivery_id as string;
  const inHand = await test();
  await runSql(
    ahead.databaseUrl,
    "update webhook_deliveries set leased_until = now() + interval '20 minutes' where delivery_id = $1",
    [inHand],
  );
  await runSql(
    ahead.databaseUrl,
    "insert into outbox (topic, payload, created_at, available_at) values ('mail.send', '{}', now(), now() + interval '20 minutes')",
  );
  const works = await startApp({ role: "worker", temporal, clock: wrong(HOUR), env, databaseUrl: ahead.databaseUrl });
  await test();
  await receiver.waitFor(1);
  await test();
  await receiver.waitFor(2);
  const { data } = (await ahead.call("GET", `${path}/deliveries`, { token: owner.token })).body as {
    data: { delivery_id: string; attempts: unknown[] }[];
  };
  expect(data.find(({ delivery_id: id }) => id === inHand)?.attempts).toEqual([]);
  expect(await runSql(ahead.databaseUrl, "select attempts from outbox")).toEqual([{ attempts: 0 }]);
  await works.close();
  await receiver.close();
});
