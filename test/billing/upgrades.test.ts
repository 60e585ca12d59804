import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { billingWorld, checkedOut, lifeAt, START, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

test("subscription.upgraded is sent when a subscription raises a paid plan, not when one is past due or paid again", async () => {
  const buyer = await founder(world.app);
  const token = buyer.token;
  const types = ["subscription.created", "subscription.upgraded", "subscription.canceled"];
  const hook = await world.app.call("POST", "/api/v2/webhooks", {
    token,
    body: { url: "http://127.0.0.1:9/hook", events: types },
  });
  const sent = async () => {
    const { body } = await world.app.call("GET", `/api/v2/webhooks/${hook.body.webhook_id}/deliveries`, { token });
    return (body.data as { event_type: string }[]).map(({ event_type }) => event_type).sort();
  };
  const pro = lifeAt((await checkedOut(world, token, "stripe")).session);
  for (const event of [pro.completed, pro.created, pro.paid, pro.failed, pro.pastDue, pro.renewed, pro.ending])
    await stripeEvent(world.app, event);
  expect(await sent()).toEqual(["subscription.created"]);
  const price = await world.app.call("POST", "/api/admin/pricing/prices", {
    token: world.admin,
    body: {
      product: "Enterprise",
      plan: "enterprise",
      interval: "month",
      currency: "usd",
      unit_amount_cents: 1_000,
      tax_percent: 10,
    },
  });
  world.app.clock.advance(1_000);
  const higher = { ...world, priceId: price.body.price_id as number };
  const enterprise = lifeAt((await checkedOut(higher, token, "stripe")).session, START + 10);
  for (const event of [enterprise.completed, enterprise.paid, enterprise.created]) await stripeEvent(world.app, event);
  expect(await sent()).toEqual(["subscription.created", "subscription.created", "subscription.upgraded"]);
  await stripeEvent(world.app, pro.ended);
  await stripeEvent(world.app, enterprise.ended);
  expect((await sent()).filter((type) => type === "subscription.upgraded")).toHaveLength(1);
});
