import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { act, billingWorld, checkedOut } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ role: "all", temporal: await temporalServer() });
});
afterAll(() => world.close());

const must = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("there is none");
  return value;
};
/** What an event of Stripe is about. */
const dataOf = (body: Record<string, unknown>) => (body["data"] as { object: Record<string, unknown> }).object;
const history = async ({ token }: Somebody) =>
  (await world.app.call("GET", "/api/billing/history", { token })).body.data as {
    status: string;
    refunded_amount: number;
  }[];
const planOf = async ({ org, token }: Somebody): Promise<string> =>
  (await world.app.call("GET", `/api/organizations/${org}`, { token })).body.plan as string;
const unmatched = async () =>
  (await world.app.call("GET", "/api/operator/billing/unmatched", { token: await world.app.login() })).body.total;

/** Pays a subscription for two periods; returns the two payments at the provider. */
async function paidTwice(buyer: Somebody, provider: string) {
  const { ledger, acts } = world.provider;
  const { url } = await checkedOut(world, buyer.token, provider);
  await act(url, "pay");
  await world.provider.settled();
  world.app.clock.advance(1_000);
  acts.renew(must([...ledger.subscriptions.values()].at(-1)), true);
  await world.provider.settled();
  const [first, second] = ledger.payments.slice(-2);
  return { first: must(first), second: must(second) };
}

describe.each(["stripe", "paddle"])("with %s", (provider) => {
  test("a refund of one payment of a subscription is shown at this payment", async () => {
    const buyer = await founder(world.app);
    const { first } = await paidTwice(buyer, provider);
    world.app.clock.advance(1_000);
    world.provider.acts.refund(first, 400);
    await world.provider.settled();
    expect(await history(buyer)).toMatchObject([
      { status: "paid", refunded_amount: 0 },
      { status: "paid", refunded_amount: 400 },
    ]);
    world.app.clock.advance(1_000);
    world.provider.acts.refund(first, first.total);
    await world.provider.settled();
    expect(await history(buyer)).toMatchObject([
      { status: "paid", refunded_amount: 0 },
      { status: "refunded", refunded_amount: 1_100 },
    ]);
    expect(await unmatched()).toBe(0);
  });

  test("a refund that fails afterwards is none, and the plan of the payment comes back", async () => {
    const buyer = await founder(world.app);
    const once = { product: "Pro", plan: "pro", interval: "once", currency: "usd", unit_amount_cents: 1_100 };
    const made = await world.app.call("POST", "/api/admin/pricing/prices", {
      token: await world.app.login(),
      body: once,
    });
    const { url } = await checkedOut({ ...world, priceId: made.body.price_id as number }, buyer.token, provider);
    await act(url, "pay");
    await world.provider.settled();
    const payment = must(world.provider.ledger.payments.at(-1));
    world.app.clock.advance(1_000);
    const refund = world.provider.acts.refund(payment, payment.total);
    await world.provider.settled();
    expect(await history(buyer)).toMatchObject([{ status: "refunded", refunded_amount: 1_100 }]);
    expect(await planOf(buyer)).toBe("free");
    world.app.clock.advance(1_000);
    world.provider.acts.failRefund(payment, refund);
    await world.provider.settled();
    expect(await history(buyer)).toMatchObject([{ status: "paid", refunded_amount: 0 }]);
    expect(await planOf(buyer)).toBe("pro");
    world.app.clock.advance(1_000);
    world.provider.acts.refund(payment, 300);
    await world.provider.settled();
    expect(await history(buyer)).toMatchObject([{ status: "paid", refunded_amount: 300 }]);
  });
});

test("a refund whose payment is not known yet is found at Stripe", async () => {
  const buyer = await founder(world.app);
  const { ledger, acts } = world.provider;
  const before = ledger.events.length;
  world.provider.losesWebhooks = true;
  const { first, second } = await paidTwice(buyer, "stripe");
  world.provider.losesWebhooks = false;
  for (const { type, body } of ledger.events.slice(before))
    if (type !== "invoice_payment.paid") acts.publish("stripe", type, dataOf(body));
  await world.provider.settled();
  expect(await history(buyer)).toMatchObject([{ status: "paid" }, { status: "paid" }]);
  acts.refund(first, first.total);
  await world.provider.settled();
  const statuses = async () => (await history(buyer)).map(({ status }) => status).sort();
  await expect.poll(statuses, { interval: 100 }).toEqual(["paid", "refunded"]);
  world.provider.mode = "broken";
  acts.refund(second, 100);
  await world.provider.settled();
  const failed = () =>
    runSql(
      world.app.databaseUrl,
      "select 1 as one from outbox where topic = 'billing.refund_received' and attempts > 0",
    );
  await expect.poll(failed, { interval: 100 }).toHaveLength(1);
  world.provider.mode = "working";
  const refunded = async () => (await history(buyer)).reduce((sum, { refunded_amount: one }) => sum + one, 0);
  await expect.poll(() => (world.app.clock.advance(1_000), refunded()), { interval: 100 }).toBe(first.total + 100);
});
