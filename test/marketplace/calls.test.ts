import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer } from "../support/market.ts";
import { outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { appPath, must } from "./stage.ts";

let app: TestApp;
let market: Market;
let offer: Offer;
let installId: string;
beforeAll(async () => {
  const env = { SERVICE_WEBHOOK_SCHEDULE: "0s,50ms" };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  market = await openMarket(app);
  offer = await market.offer(({ type }, nth) =>
    nth === 1 ? { status: 503, body: "later" } : { status: type === "install.suspended" ? 204 : 200 },
  );
  installId = must(await offer.install()).install_id as string;
  await market.until(installId, "active");
  await suspend();
});
afterAll(async () => {
  await market.close();
  await app.close();
});

const calls = (appId = offer.appId, id = installId): Promise<Answer> =>
  app.call("GET", appPath(appId, `/installs/${id}/calls`), { token: market.publisher });
const suspend = async (appId = offer.appId, id = installId): Promise<void> =>
  void must(await app.call("POST", appPath(appId, `/installs/${id}/suspend`), { token: market.publisher, body: {} }));

it("requests to a publisher are listed newest first, as they were sent and answered", async () => {
  await expect.poll(async () => must(await calls()).data).toHaveLength(3);
  const [third, second, first] = must(await calls()).data;
  expect(third).toMatchObject({ type: "install.suspended", status_code: 204, response: null });
  expect(second).toMatchObject({ type: "install.provisioning", status_code: 200, error: null });
  expect(first).toEqual({
    at: expect.any(String),
    type: "install.provisioning",
    url: offer.server.url,
    status_code: 503,
    error: null,
    duration_ms: expect.any(Number),
    request_body: JSON.stringify(offer.server.calls[0]),
    response: "later",
  });
});

it("the last 50 requests to a publisher are kept", async () => {
  const { appId, install } = await market.offer(() => ({ status: 200 }));
  const id = must(await install()).install_id as string;
  await market.until(id, "active");
  await runSql(
    app.databaseUrl,
    `insert into install_calls (install_id, at, type, url, duration_ms, request_body)
     select $1, now(), 'old ' || n, 'http://127.0.0.1:9/', 1, '{}' from generate_series(1, 60) as n`,
    [id],
  );
  await suspend(appId, id);
  const types = async (): Promise<string[]> =>
    must(await calls(appId, id)).data.map(({ type }: { type: string }) => type);
  await expect.poll(types).toContain("install.suspended");
  expect(await types()).toEqual(["install.suspended", ...Array.from({ length: 49 }, (_, nth) => `old ${60 - nth}`)]);
});

it("requests to the publisher of another app are not found", async () => {
  const other = await market.offer(() => ({ status: 200 }));
  expect(outcome(await calls(other.appId))).toBe("404 install_not_found");
});
