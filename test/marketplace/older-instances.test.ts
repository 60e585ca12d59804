import { afterAll, beforeAll, expect, it } from "vitest";
import { createOlderInstancesTidy } from "../../src/domains/marketplace/installs/older-instances.ts";
import { migrations } from "../../src/migrations/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { migrate, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must } from "./stage.ts";

let app: TestApp;
let market: Market;
let database: OpenDatabase;
beforeAll(async () => {
  app = await startApp({ clock: systemClock });
  market = await openMarket(app);
  const { databaseUrl: url } = app;
  database = await openDatabase({ url, entities: [], migrations, clock: systemClock, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await market.close();
  await app.close();
});

/** A single-tenant install with a cloud target, as an instance of before migrations 0092 and 0093 writes it. */
async function install(status: "active" | "deprovisioned"): Promise<string> {
  const offer = await market.offer(() => ({ status: 200 }));
  const body = { deployment_modes: ["single_tenant"] };
  must(await app.call("PATCH", appPath(offer.appId), { token: market.publisher, body }));
  const installId = must(await offer.install()).install_id as string;
  must(await offer.report(installId, { status: "active", cloud_target: { provider: "aws", region: "eu-1" } }));
  await runSql(
    app.databaseUrl,
    `update installs set status = $2, plan_name = null, plan_price_cents = null, plan_currency = null,
       plan_interval = null where install_id = $1`,
    [installId, status],
  );
  return installId;
}

const stored = async (installId: string) =>
  (
    await runSql<{ target: string; plan: string | null; cents: number | null }>(
      app.databaseUrl,
      `select t.status as target, i.plan_name as plan, i.plan_price_cents as cents
       from installs i join cloud_targets t using (install_id) where install_id = $1`,
      [installId],
    )
  )[0];

it.each([
  ["a tidy task", () => createOlderInstancesTidy({ database, clock: systemClock })()],
  [
    "a migration",
    async () => {
      await runSql(app.databaseUrl, "delete from schema_migrations where name = '0113-older-instances'");
      await migrate({ url: app.databaseUrl, migrations, log: silentLog });
    },
  ],
])("what instances of an older version write of installs is completed by %s", async (_name, complete) => {
  const [over, live] = [await install("deprovisioned"), await install("active")];
  expect(await stored(over)).toEqual({ target: "active", plan: null, cents: null });
  await complete();
  const bought = { plan: expect.any(String), cents: expect.any(Number) };
  expect(await stored(over)).toEqual({ target: "revoked", ...bought });
  expect(await stored(live)).toEqual({ target: "active", ...bought });
});
