import { afterAll, beforeAll, expect, it } from "vitest";
import { readStatus } from "../../src/app/status.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { must, publish } from "../marketplace/stage.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "../webhooks/receiver.ts";
import type { Receiver } from "../webhooks/receiver.ts";

let app: TestApp;
let market: Market;
let dead: Receiver;
let patient: Receiver;
let temporal: { address: string; namespace: string };
const AGO_MS = 20 * 60_000;
beforeAll(async () => {
  temporal = await temporalServer();
  // By the operator's clock, everything happens 20 minutes ago.
  app = await startApp({
    role: "all",
    temporal,
    clock: { now: () => Date.now() - AGO_MS },
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,2h,2h" },
  });
  market = await openMarket(app);
  [dead, patient] = await Promise.all([startReceiver(() => 503), startReceiver(() => 202)]);
});
afterAll(async () => {
  await market.close();
  await app.close();
  await Promise.all([dead.close(), patient.close()]);
});

const status = (at = temporal) => readStatus({ databaseUrl: app.databaseUrl, temporal: at }, silentLog);

it("the status of a service in which nothing is stuck says so", async () => {
  await expect.poll(async () => (await status()).lines).toContain("outbox       empty");
  const { lines, healthy } = await status();
  expect(lines).toEqual([
    "database     ok",
    "migrations   ok",
    "temporal     ok",
    "outbox       empty",
    "deliveries   none open",
    "installs     none under way for more than 10 min",
  ]);
  expect(healthy).toBe(true);
});

it("the status of a service whose messages all fail names the topic, since when and why", async () => {
  await runSql(
    app.databaseUrl,
    `insert into outbox (topic, payload, created_at, available_at, attempts, last_error)
     values ('mail.retry', '{}', now() - interval '5 minutes', now() + interval '20 seconds', 9, E'535 no\nmore')`,
  );
  const { lines, healthy } = await status();
  await runSql(app.databaseUrl, "delete from outbox where topic = 'mail.retry'");
  expect(lines).toContain("outbox       oldest message that is due or fails: 5 min");
  expect(lines).toContain("             mail.retry: 1 waiting, 1 tried before, for up to 5 min (535 no)");
  expect(healthy).toBe(false);
});

it("the status names what is stuck, since when and why: an endpoint, an install, an unavailable Temporal", async () => {
  const { body: hook } = await app.call("POST", "/api/v2/webhooks", {
    token: market.buyer,
    body: { url: dead.url, events: ["role.updated"] },
  });
  await app.call("POST", `/api/v2/webhooks/${hook.webhook_id}/test`, { token: market.buyer });
  const offer = await publish(app, market.publisher, { provision_webhook: patient.url }, market.buyer);
  const installId = must(
    await app.call("POST", `/api/marketplace/${offer.slug}/install`, { token: market.buyer, body: {} }),
  ).install_id as string;
  await expect.poll(async () => (await market.read(installId)).timeline.at(-1)?.event).toBe("accepted");
  await expect.poll(async () => (await status()).lines.join("\n")).toContain("(HTTP 503)");

  const { lines, healthy } = await status();
  expect(healthy).toBe(false);
  expect(lines).toContain("deliveries   open at 1 endpoint");
  expect(lines.find((line) => line.includes(dead.url))).toMatch(
    new RegExp(
      `^ {13}${dead.url} \\(webhook ${hook.webhook_id}\\): 1 open, failing for 20 min \\(HTTP 503\\), ` +
        "next attempt in (1\\.[2-9]|2\\.0|2\\.1) h$",
      "u",
    ),
  );
  expect(lines).toContain("installs     1 install under way for more than 10 min");
  expect(lines).toContain(
    `             ${installId} ${offer.slug}: provisioning for 20 min; accepted: the publisher answered 202`,
  );

  const away = await status({ ...temporal, address: "127.0.0.1:9" });
  expect(away.healthy).toBe(false);
  expect(away.lines.find((line) => line.startsWith("temporal"))).not.toBe("temporal     ok");
});
