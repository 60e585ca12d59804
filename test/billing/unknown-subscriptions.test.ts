import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { act, billingWorld, checkedOut, ofStripe, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

async function read({ token }: Somebody, path: string) {
  const { status, body } = await world.app.call("GET", path, { token });
  expect(status).toBe(200);
  return body;
}

const planOf = async (buyer: Somebody) => (await read(buyer, `/api/organizations/${buyer.org}`)).plan as string;
const subscriptionOf = async (buyer: Somebody) => (await read(buyer, "/api/billing/subscriptions")).data[0];

/** Buys a subscription; returns its id here and at the provider. */
async function bought(buyer: Somebody, provider: string): Promise<{ id: string; external: string }> {
  const { url } = await checkedOut(world, buyer.token, provider);
  await act(url, "pay");
  await world.provider.settled();
  const { subscription_id: id, status } = await subscriptionOf(buyer);
  expect(status).toBe("active");
  return { id, external: [...world.provider.ledger.subscriptions.keys()].at(-1) ?? "" };
}

const cancel = ({ token }: Somebody, id: string) =>
  world.app.call("DELETE", `/api/billing/subscriptions/${id}`, { token });

describe("a subscription that its provider does not know any more", () => {
  test.each(["stripe", "paddle"])("is canceled at once, and its plan ends, with %s", async (provider) => {
    const buyer = await founder(world.app);
    const { id, external } = await bought(buyer, provider);
    expect(await planOf(buyer)).toBe("pro");
    world.provider.ledger.subscriptions.delete(external);
    expect(await cancel(buyer, id)).toMatchObject({ status: 202, body: { status: "canceled" } });
    expect(await subscriptionOf(buyer)).toMatchObject({ status: "canceled" });
    expect(await planOf(buyer)).toBe("free");
    expect(await cancel(buyer, id)).toMatchObject({ status: 404, body: { code: "not_found" } });
    const rows = await runSql(
      world.app.databaseUrl,
      "select metadata from audit_events where org_uuid = $1 and type = 'subscription.canceled'",
      [buyer.org],
    );
    expect(rows).toMatchObject([{ metadata: { provider, plan: "pro", reason: "unknown_at_provider" } }]);
  });

  test("stays canceled by events from before its end, and lives again by one from after it", async () => {
    const buyer = await founder(world.app);
    const { id, external } = await bought(buyer, "stripe");
    world.provider.ledger.subscriptions.delete(external);
    expect((await cancel(buyer, id)).status).toBe(202);
    const now = () => Math.floor(world.app.clock.now() / 1_000);
    const state = { id: external, status: "active", cancel_at_period_end: false };
    await stripeEvent(world.app, ofStripe("customer.subscription.updated", now() - 5, state));
    expect([(await subscriptionOf(buyer)).status, await planOf(buyer)]).toEqual(["canceled", "free"]);
    world.app.clock.advance(10_000);
    await stripeEvent(world.app, ofStripe("customer.subscription.updated", now(), state));
    expect([(await subscriptionOf(buyer)).status, await planOf(buyer)]).toEqual(["active", "pro"]);
  });

  test("is canceled when it should have ended with its period and is ended again", async () => {
    const buyer = await founder(world.app);
    const { id, external } = await bought(buyer, "stripe");
    expect(await cancel(buyer, id)).toMatchObject({ status: 202, body: { status: "active" } });
    world.provider.ledger.subscriptions.delete(external);
    expect(await cancel(buyer, id)).toMatchObject({ status: 202, body: { status: "active" } });
    await runSql(
      world.app.databaseUrl,
      "update subscriptions set current_period_end = '2020-01-01' where subscription_id = $1",
      [id],
    );
    expect(await cancel(buyer, id)).toMatchObject({ status: 202, body: { status: "canceled" } });
    expect(await planOf(buyer)).toBe("free");
  });
});
