import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { act, billingWorld, bodyOf, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** A new price of the plan `pro`. */
async function priced(change: object): Promise<BillingWorld> {
  const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 500 };
  const made = await world.app.call("POST", "/api/admin/pricing/prices", {
    token: await world.app.login(),
    body: { ...price, ...change },
  });
  return { ...world, priceId: made.body.price_id as number };
}

/** Buys at Stripe; returns what the session was opened with. */
async function buy(token: string, of = world): Promise<Record<string, unknown>> {
  world.app.clock.advance(1_000);
  const { url } = await checkedOut(of, token, "stripe");
  const sent = bodyOf(world.provider.calls.at(-1));
  await act(url, "pay");
  await world.provider.settled();
  return sent;
}

const portal = (token: string) =>
  world.app.call("POST", "/api/billing/portal-session", { token, body: { provider: "stripe" } });

test("all that an organization buys at Stripe is in the portal of one customer", async () => {
  const { token } = await founder(world.app);
  expect(await buy(token)).not.toHaveProperty("customer");
  const [customer] = [...world.provider.ledger.customers].slice(-1);
  expect(await buy(token, await priced({}))).toMatchObject({ customer });
  expect(await buy(token, await priced({ interval: "once" }))).toMatchObject({ customer });
  const opened = await portal(token);
  expect(opened.status).toBe(200);
  const page = await (await fetch(opened.body.url as string)).text();
  expect([...page.matchAll(/value="renew sub_\w+"/gu)]).toHaveLength(2);
  const stranger = await founder(world.app);
  expect(await buy(stranger.token)).not.toHaveProperty("customer");
});

test("a customer whom Stripe has no more, or bound to another currency, keeps nobody from buying", async () => {
  const { token } = await founder(world.app);
  await buy(token);
  const [customer = ""] = [...world.provider.ledger.customers].slice(-1);
  expect(await buy(token, await priced({ currency: "eur" }))).not.toHaveProperty("customer");
  world.provider.ledger.customers.delete(customer);
  for (const known of world.provider.ledger.customers) world.provider.ledger.customers.delete(known);
  expect(await buy(token)).not.toHaveProperty("customer");
  expect((await portal(token)).status).toBe(200);
});

test("the portal is that of the customer whose subscription lives, where there are several", async () => {
  const { token } = await founder(world.app);
  const subscription = { product: "Pro", plan: "pro", interval: "month", unit_amount_cents: 500 };
  const single = { ...subscription, interval: "once" };
  const shown = async () => {
    const page = await (await fetch((await portal(token)).body.url as string)).text();
    return [...page.matchAll(/value="renew (sub_\w+)"/gu)].map(([, id]) => id);
  };
  const [first, second] = [await checkedOut(world, token, "stripe"), await priced(single)];
  const other = await checkedOut(second, token, "stripe");
  await act(first.url, "pay");
  world.app.clock.advance(1_000);
  await act(other.url, "pay");
  await world.provider.settled();
  const [lives] = [...world.provider.ledger.subscriptions.keys()].slice(-1);
  expect(await shown()).toEqual([lives]);
  await buy(token, await priced({ ...subscription, currency: "eur" }));
  const [newest = ""] = [...world.provider.ledger.subscriptions.keys()].slice(-1);
  expect(await shown()).toEqual([newest]);
  const ended = world.provider.ledger.subscriptions.get(newest);
  if (ended === undefined) throw new Error("there is no subscription");
  world.app.clock.advance(1_000);
  world.provider.acts.cancel(ended, "now");
  await world.provider.settled();
  expect(await shown()).toEqual([lives]);
});

test("who has bought for a single payment at Stripe has a customer portal", async () => {
  const { token } = await founder(world.app);
  expect((await portal(token)).status).toBe(409);
  expect(await buy(token, await priced({ interval: "once" }))).toMatchObject({ customer_creation: "always" });
  expect((await portal(token)).status).toBe(200);
});

test("a card is stored although Stripe no longer has the customer of the person", async () => {
  const { token } = await founder(world.app);
  const add = (payment_method_token: string) =>
    world.app.call("POST", "/api/billing/cards", { token, body: { provider: "stripe", payment_method_token } });
  const first = await add("pm_first");
  expect(first.status).toBe(201);
  for (const method of ["pm_second", "tok_third"]) {
    world.provider.ledger.customers.clear();
    expect((await add("pm_declined")).body.code).toBe("card_declined");
    expect((await add(method)).status, method).toBe(201);
  }
  expect((await portal(token)).status).toBe(200);
  const removed = await world.app.call("DELETE", `/api/billing/cards/${first.body.id}`, { token });
  expect(removed.status).toBe(204);
});
