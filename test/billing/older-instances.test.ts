import { afterAll, beforeAll, expect, it } from "vitest";
import { createOlderInstancesTidy } from "../../src/domains/billing/payments/older-instances.ts";
import { migrations } from "../../src/migrations/index.ts";
import { migrate, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, bodyOf, checkedOut, confirmed, ofPaddle, paddleEvent, some, START } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
let database: OpenDatabase;
beforeAll(async () => {
  world = await billingWorld();
  const { databaseUrl: url, clock } = world.app;
  database = await openDatabase({ url, entities: [], migrations, clock, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await world.close();
});

it.each([
  ["a tidy task", () => createOlderInstancesTidy({ database, clock: { now: () => START * 1_000 } })()],
  [
    "a migration",
    async () => {
      await runSql(world.app.databaseUrl, "delete from schema_migrations where name = '0113-older-instances'");
      await migrate({ url: world.app.databaseUrl, migrations, log: silentLog });
    },
  ],
])("whom instances of an older version take for a customer of Paddle is forgotten by %s", async (_name, complete) => {
  const [owner, other] = [await confirmed(world.app), await confirmed(world.app)];
  await checkedOut(world, owner.token, "paddle");
  const owned = bodyOf(world.provider.calls.at(-1))["customer_id"];
  const { session } = await checkedOut(world, other.token, "paddle");
  const paid = ofPaddle("transaction.completed", 7, {
    id: session,
    customer_id: owned,
    subscription_id: `sub_${some()}`,
    currency_code: "USD",
    details: { totals: { grand_total: "1100" } },
  });
  expect((await paddleEvent(world.app, paid)).status).toBe(200);
  await runSql(
    world.app.databaseUrl,
    `with forgotten as (delete from customer_organizations where org_uuid = $1)
     update billing_customers set customer_id = $2, seen_at = $3 where org_uuid = $1`,
    [other.org, owned, paid.occurred_at],
  );
  await complete();
  const customers = await runSql<{ org: string }>(
    world.app.databaseUrl,
    "select org_uuid as org from billing_customers where org_uuid = any ($1)",
    [[owner.org, other.org]],
  );
  expect(customers).toEqual([{ org: owner.org }]);
  const body = { provider: "paddle" };
  const portal = ({ token }: typeof owner) => world.app.call("POST", "/api/billing/portal-session", { token, body });
  expect((await portal(owner)).body.message).toContain("Another organization");
  expect((await portal(other)).status).toBe(409);
});
