import { setTimeout as sleep } from "node:timers/promises";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";

let app: TestApp;
let market: Market;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  const temporal = await temporalServer();
  connection = await Connection.connect({ address: temporal.address });
  client = new Client({ connection, namespace: temporal.namespace });
  app = await startApp({ role: "all", temporal, clock: systemClock, env: { SERVICE_WEBHOOK_SCHEDULE: "0s,2s,1h" } });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
  await connection.close();
});

it("signals without a change do not restart the schedule", async () => {
  const offer = await market.offer(() => ({ status: 500 }));
  const installId = (await offer.install()).body.install_id as string;
  const failed = (times: number) =>
    expect
      .poll(
        async () => (await market.read(installId)).timeline.filter(({ event }) => event === "attempt_failed").length,
      )
      .toBe(times);
  const signal = async (): Promise<void> => {
    await client.workflow.getHandle(`install/${installId}`).signal("install-changed");
    await sleep(300);
  };
  await failed(1);
  await signal();
  await signal();
  expect(offer.server.calls).toHaveLength(1);
  await failed(2);
  // The next one is an hour away, as the timeline says.
  const waits = (await market.read(installId)).timeline
    .filter(({ event }) => event === "attempt_failed")
    .map(({ at, next_attempt_at: next }) => (Date.parse(next ?? "") - Date.parse(at)) / 1_000);
  expect(waits[0]).toBeGreaterThanOrEqual(1.6);
  expect(waits[0]).toBeLessThanOrEqual(2.4);
  expect(waits[1]).toBeGreaterThanOrEqual(0.8 * 3_600);
  expect(waits[1]).toBeLessThanOrEqual(1.2 * 3_600);
  await signal();
  await sleep(700);
  expect(offer.server.calls).toHaveLength(2);
});

it("an attempt whose app secret cannot be opened fails with a reason and follows the schedule", async () => {
  const offer = await market.offer(() => ({ status: 200 }));
  await runSql(app.databaseUrl, "update apps set webhook_secret = '\\x00' where app_id = $1", [offer.appId]);
  const installId = (await offer.install()).body.install_id as string;
  const failures = async () =>
    (await market.read(installId)).timeline.filter(({ event }) => event === "attempt_failed");
  await expect.poll(async () => (await failures()).length).toBe(2);
  for (const { detail } of await failures()) expect(detail).toContain("rotate it");
  expect(offer.server.calls).toHaveLength(0);
});
