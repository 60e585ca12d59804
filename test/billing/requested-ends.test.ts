import { afterAll, beforeAll, expect, test } from "vitest";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { act, billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

test("an end that is requested while an event of the purchase is applied is not lost", async () => {
  const { token } = await founder(world.app);
  const { quoteId, url } = await checkedOut(world, token, "stripe");
  await act(url, "pay");
  await world.provider.settled();
  const read = async () => (await world.app.call("GET", "/api/billing/subscriptions", { token })).body.data[0];
  const { subscription_id: id } = await read();
  // As those who apply events: they lock the purchase, read its subscription, and write it as the events say.
  const held = await holding(world.app.databaseUrl);
  await held.run("select 1 from quotes where quote_id = $1 for no key update", [quoteId]);
  world.provider.losesWebhooks = true;
  const cancelled = world.app.call("DELETE", `/api/billing/subscriptions/${id}`, { token });
  await held.waitedFor();
  await held.run("update subscriptions set cancel_at_period_end = false where quote_id = $1", [quoteId]);
  await held.commit();
  expect(await cancelled).toMatchObject({ status: 202, body: { cancel_at_period_end: true } });
  expect(await read()).toMatchObject({ status: "active", cancel_at_period_end: true });
});
