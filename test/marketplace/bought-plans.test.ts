import { afterAll, beforeAll, expect, it } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish } from "./stage.ts";
import type { PublishedApp } from "./stage.ts";

let app: TestApp;
let admin: string;
let publisher: Somebody;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  publisher = await founder(app);
});
afterAll(() => app.close());

const plan = (id: string, cents: number) => ({ plan_id: id, name: id, price_cents: cents, interval: "year" });

/** An app with the plan `team` at 9.00 USD a year, and an install of two seats of it. */
async function bought(): Promise<{ shop: PublishedApp; buyer: Somebody; installId: string }> {
  const shop = await publish(app, publisher.token, { plans: [plan("team", 900)] }, admin);
  const buyer = await founder(app);
  const body = { plan_id: "team", quantity: 2 };
  const install = await app.call("POST", `/api/marketplace/${shop.slug}/install`, { token: buyer.token, body });
  return { shop, buyer, installId: must(install).install_id as string };
}
const change = async ({ appId }: PublishedApp, body: object): Promise<void> =>
  void must(await app.call("PATCH", appPath(appId), { token: publisher.token, body }));
const quote = ({ token }: Somebody, installId: string) =>
  app.call("POST", "/api/pricing/quote", { token, body: { install_id: installId } });
/** Makes an install one of the version that stored the id of its plan alone. */
const forget = (installId: string) =>
  runSql(
    app.databaseUrl,
    `update installs set plan_name = null, plan_price_cents = null, plan_currency = null, plan_interval = null
     where install_id = $1`,
    [installId],
  );

it("the quote of an install has the price that it bought, whatever becomes of the plans of the app", async () => {
  const { shop, buyer, installId } = await bought();
  const price = { seats: 2, currency: "usd", unit_amount_cents: 900, total_cents: 1_800 };
  expect(must(await quote(buyer, installId))).toMatchObject(price);
  await change(shop, { plans: [plan("team", 9_000)], currency: "eur" });
  expect(must(await quote(buyer, installId))).toMatchObject(price);
  await change(shop, { plans: [plan("other", 1)] });
  expect(must(await quote(buyer, installId))).toMatchObject(price);
});

it("the quote of an install at the default plan does not follow the base price of the app", async () => {
  const shop = await publish(app, publisher.token, { base_price_cents: 0 }, admin);
  const buyer = await founder(app);
  const install = must(
    await app.call("POST", `/api/marketplace/${shop.slug}/install`, { token: buyer.token, body: {} }),
  );
  await change(shop, { base_price_cents: 5_000 });
  expect(install.payment_source).toBe("free");
  expect(must(await quote(buyer, install.install_id as string))).toMatchObject({ total_cents: 0 });
});

it("the quote of an install without a stored price has the present one, and is 400 without the plan", async () => {
  const { shop, buyer, installId } = await bought();
  await forget(installId);
  await change(shop, { plans: [plan("team", 700)] });
  expect(must(await quote(buyer, installId))).toMatchObject({ unit_amount_cents: 700 });
  await change(shop, { plans: [plan("other", 1)] });
  const refused = await quote(buyer, installId);
  expect(outcome(refused)).toBe("400 invalid_plan");
  expect(refused.body.message).toContain("no longer has the plan");
});

it("a migration stores the present plans of earlier installs, and leaves those of later ones", async () => {
  const [early, late] = [await bought(), await bought()];
  await forget(early.installId);
  for (const { shop } of [early, late]) await change(shop, { plans: [plan("team", 800)], currency: "eur" });
  await runSql(app.databaseUrl, "delete from schema_migrations where name = '0092-bought-plans'");
  await migrate({ url: app.databaseUrl, migrations, log: silentLog });
  await change(early.shop, { plans: [plan("other", 1)] });
  expect(must(await quote(early.buyer, early.installId))).toMatchObject({ unit_amount_cents: 800, currency: "eur" });
  expect(must(await quote(late.buyer, late.installId))).toMatchObject({ unit_amount_cents: 900, currency: "usd" });
  const stored = "select plan_name, plan_interval from installs where install_id = $1";
  expect(await runSql(app.databaseUrl, stored, [early.installId])).toEqual([
    { plan_name: "team", plan_interval: "year" },
  ]);
});
