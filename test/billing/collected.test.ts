import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { act, billingWorld, checkedOut, lifeAt, ofPaddle, paddleEvent, some, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

async function stateOf({ org, token }: Somebody) {
  const read = async (path: string) => (await world.app.call("GET", path, { token })).body;
  const { plan } = await read(`/api/organizations/${org}`);
  return { plan, history: (await read("/api/billing/history")).data as object[] };
}

const unmatched = async (): Promise<number> =>
  (await world.app.call("GET", "/api/operator/billing/unmatched", { token: await world.app.login() })).body.total;

/** What Paddle says of a transaction. */
const transaction = (id: string, subscription: string, totals: object, origin = "api") => ({
  id,
  subscription_id: subscription,
  currency_code: "USD",
  origin,
  details: { totals },
});

test.each([800, 0])("an invoice of Stripe of which credit leaves %i to collect is paid", async (collected) => {
  const buyer = await founder(world.app);
  const { completed, paid } = lifeAt((await checkedOut(world, buyer.token, "stripe")).session);
  const object = { ...paid.data.object, total: 1_100, amount_paid: collected };
  for (const event of [completed, { ...paid, data: { object } }]) await stripeEvent(world.app, event);
  expect(await stateOf(buyer)).toMatchObject({ plan: "pro", history: [{ status: "paid", amount: collected }] });
  expect(await unmatched()).toBe(0);
});

test("a transaction of Paddle that credit settles in part is paid, and refunded with what was collected", async () => {
  const buyer = await founder(world.app);
  const { session } = await checkedOut(world, buyer.token, "paddle");
  const totals = { total: "1100", credit: "300", grand_total: "800" };
  const data = transaction(session, `sub_${some()}`, totals);
  await paddleEvent(world.app, ofPaddle("transaction.completed", 0, data));
  expect(await stateOf(buyer)).toMatchObject({ plan: "pro", history: [{ status: "paid", amount: 800 }] });
  expect(await unmatched()).toBe(0);
  const refund = { id: `adj_${some()}`, action: "refund", status: "approved", transaction_id: session };
  await paddleEvent(world.app, ofPaddle("adjustment.created", 1, { ...refund, totals: { total: "800" } }));
  expect((await stateOf(buyer)).history).toMatchObject([{ status: "refunded", amount: 800, refunded_amount: 800 }]);
});

test("a single payment of nothing grants its plan", async () => {
  for (const provider of ["stripe", "paddle"]) {
    const buyer = await founder(world.app);
    const price = { product: "Gift", plan: "pro", interval: "once", currency: "usd", unit_amount_cents: 0 };
    const made = await world.app.call("POST", "/api/admin/pricing/prices", {
      token: await world.app.login(),
      body: price,
    });
    const { url } = await checkedOut({ ...world, priceId: made.body.price_id as number }, buyer.token, provider);
    await act(url, "pay");
    await world.provider.settled();
    expect(await stateOf(buyer), provider).toMatchObject({ plan: "pro", history: [{ status: "paid", amount: 0 }] });
  }
});

test("another card of a subscription at Paddle is no payment", async () => {
  const buyer = await founder(world.app);
  const { session } = await checkedOut(world, buyer.token, "paddle");
  const subscription = `sub_${some()}`;
  const bought = transaction(session, subscription, { total: "1100", grand_total: "1100" });
  await paddleEvent(world.app, ofPaddle("transaction.completed", 0, bought));
  const nothing = { total: "0", grand_total: "0" };
  const change = transaction(`txn_${some()}`, subscription, nothing, "subscription_payment_method_change");
  for (const type of ["transaction.payment_failed", "transaction.completed"])
    await paddleEvent(world.app, ofPaddle(type, 10, change));
  expect((await stateOf(buyer)).history).toMatchObject([{ status: "paid", amount: 1_100 }]);
  const { body } = await world.app.call("GET", "/api/billing/subscriptions", { token: buyer.token });
  expect(body.data).toMatchObject([{ status: "active" }]);
  expect(await unmatched()).toBe(0);
});
