import { afterAll, beforeAll, expect, test } from "vitest";
import { runSql } from "../support/postgres.ts";
import { billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ clock: { now: () => Date.now() + 60_000, isMachine: true } });
});
afterAll(() => world.close());

test("an instance whose clock is ahead waits for a checkout that another instance opens", async () => {
  const { app, buyer, provider, priceId } = world;
  const post = (path: string, body: object) => app.call("POST", path, { token: buyer.token, body });
  // The first one loads the provider's SDK.
  await checkedOut(world, buyer.token, "stripe");
  const before = provider.calls.length;
  const { quote_id } = (await post("/api/pricing/quote", { price_id: priceId })).body;
  await runSql(
    app.databaseUrl,
    `insert into checkouts (quote_id, org_uuid, provider, claimed_at, expires_at)
     values ($1, $2, 'stripe', now(), now() + interval '1 hour')`,
    [quote_id, buyer.org],
  );
  let answered = false;
  const opening = post("/api/pricing/checkout-session", { quote_id, provider: "stripe" }).finally(() => {
    answered = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect([answered, provider.calls.length]).toEqual([false, before]);
  await runSql(app.databaseUrl, "delete from checkouts where quote_id = $1", [quote_id]);
  expect((await opening).status).toBe(200);
  expect(provider.calls).toHaveLength(before + 1);
});
