import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { temporalServer } from "../support/temporal.ts";
import { appPath, must } from "./stage.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,100ms,100ms" },
  });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

it("a webhook secret that was rotated by an app id in upper case signs what the publisher receives", async () => {
  const offer = await market.offer(() => ({ status: 200 }));
  const path = appPath(offer.appId.toUpperCase(), "/webhook/rotate");
  const rotated = must(await app.call("POST", path, { token: market.publisher, body: {} }));
  expect(rotated.app_id).toBe(offer.appId);
  offer.server.useSecret(rotated.webhook_secret as string);
  const { install_id: installId } = must(await offer.install());
  await market.until(installId as string, "active");
  expect(offer.server.forged).toBe(0);
}, 150_000);
