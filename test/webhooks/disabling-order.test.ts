import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
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
