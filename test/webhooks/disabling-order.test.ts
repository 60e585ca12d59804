import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { holding } from "../support/holding.ts";
import { elevated, founder } from "../support/people.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
const receivers: Receiver[] = [];
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1" },
    log,
  });
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

test("two webhooks that receive each other's webhook.disabled are disabled at the same time, without a deadlock", async () => {
  const { token } = await founder(app);
  for (let made = 0; made < 2; made++) {
    const receiver = await startReceiver(() => "hang");
    receivers.push(receiver);
    const body = { url: receiver.url, events: ["webhook.disabled"] };
    const { webhook_id: id } = (await app.call("POST", "/api/v2/webhooks", { token, body })).body;
    await app.call("POST", `/api/v2/webhooks/${id as string}/test`, { token });
  }
  await Promise.all(receivers.map((receiver) => receiver.waitFor(1)));

  const held = await holding(app.databaseUrl);
  // Each attempt has locked its webhook by then, unless it waits for the other, and sends its event last.
  await held.run("lock table webhook_deliveries in share mode");
  for (const receiver of receivers) receiver.release(410);
  await held.waitedFor(2);
  await held.commit();

  const statuses = async () =>
    (await app.call("GET", "/api/v2/webhooks", { token })).body.data.map(({ status }: { status: string }) => status);
  await expect.poll(statuses).toEqual(["disabled", "disabled"]);
  expect(deadlocks).toEqual([]);
});

test("a webhook is disabled while its organization, whose other webhooks receive that, is deleted, without a deadlock", async () => {
  const { org, token } = await founder(app);
  const ids: string[] = [];
  const events = ["webhook.disabled"];
  for (let made = 0; made < 2; made++) {
    const receiver = await startReceiver(() => "hang");
    receivers.push(receiver);
    const { body } = await app.call("POST", "/api/v2/webhooks", { token, body: { url: receiver.url, events } });
    ids.push(body.webhook_id as string);
  }
  // The deletion locks webhooks in the order of their ids, the one that is disabled last.
  const last = ids.toSorted().at(-1) as string;
  const receiver = receivers.at(ids.indexOf(last) - 2) as Receiver;
  await app.call("POST", `/api/v2/webhooks/${last}/test`, { token });
  await receiver.waitFor(1);
  const owner = await elevated(app, token);

  const held = await holding(app.databaseUrl);
  await held.run("select 1 from webhook_deliveries where webhook_id = $1 for update", [last]);
  receiver.release(410);
  // The disabling has locked its webhook and waits for the delivery; it sends its event to the other afterwards.
  await held.waitedFor(1);
  const deleted = app.call("DELETE", `/api/organizations/${org}`, { token: owner });
  await held.waitedFor(2);
  await held.commit();

  expect((await deleted).status).toBe(204);
  expect(deadlocks).toEqual([]);
});
