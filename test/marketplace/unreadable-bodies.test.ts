import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

it.each(["zstd", "gzip"])("a 200 whose %s body cannot be decoded provisions the install", async (coding) => {
  const offer = await market.offer(() => ({ status: 200, headers: { "content-encoding": coding }, body: "{}" }));
  const installId = must(await offer.install()).install_id as string;
  const { timeline } = await market.until(installId, "active");
  expect(timeline.map(({ event }) => event)).toEqual(["requested", "active"]);
  expect(timeline[1]?.detail).toContain("could not be decoded");
  const path = appPath(offer.appId, `/installs/${installId}/calls`);
  expect(must(await app.call("GET", path, { token: market.publisher })).data).toMatchObject([
    { status_code: 200, error: null, response: null },
  ]);
});

it("a delivery that is answered by 200 and a body that cannot be decoded is delivered", async () => {
  const receiver = createServer((_, response) => response.writeHead(200, { "content-encoding": "zstd" }).end("ok"));
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const webhook = await app.call("POST", "/api/v2/webhooks", { token: market.buyer, body: { url, events: ["*"] } });
  const path = `/api/v2/webhooks/${must(webhook).webhook_id as string}`;
  must(await app.call("POST", `${path}/test`, { token: market.buyer, body: {} }));
  await expect
    .poll(async () => must(await app.call("GET", `${path}/deliveries`, { token: market.buyer })).data)
    .toMatchObject([{ status: "delivered", attempts: [{ status_code: 200, error: null, response: null }] }]);
  receiver.closeAllConnections();
  receiver.close();
});
