import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditOf, founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import {
  billingWorld,
  checkedOut,
  lifeAt,
  ofPaddle,
  ofStripe,
  paddleEvent,
  some,
  START,
  stripeEvent,
} from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** What an organization sees, without ids and times that differ from run to run. */
async function stateOf({ org, token }: { org: string; token: string }) {
  const { app } = world;
  const read = async (path: string) => (await app.call("GET", path, { token })).body;
  const { plan } = await read(`/api/organizations/${org}`);
  const history = (await read("/api/billing/history")).data as Record<string, unknown>[];
  const subscriptions = (await read("/api/billing/subscriptions")).data as Record<string, unknown>[];
  return {
    plan,
    history: history
      .map(({ amount, status, period_start, quote_id }) => ({ amount, status, period_start, first: quote_id !== null }))
      .sort((one, other) => String(one.period_start).localeCompare(String(other.period_start))),
    subscriptions: subscriptions.map(({ status, plan: given, current_period_end, cancel_at_period_end }) => ({
      status,
      given,
      current_period_end,
      cancel_at_period_end,
    })),
  };
}

/** Sets an organization's plan as a platform admin. */
async function setPlan(org: string, plan: string): Promise<void> {
  world.admin = await world.app.login();
  const set = await world.app.call("PATCH", `/api/organizations/${org}`, { token: world.admin, body: { plan } });
  expect(set.status).toBe(200);
}

describe("events of a provider", () => {
  test("nothing is granted before the payment, the plan follows it, past due keeps it, and its end takes it", async () => {
    const buyer = await founder(world.app);
    const { session, quoteId } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    const after = async (event: object) => {
      await stripeEvent(world.app, event);
      return stateOf(buyer);
    };
    expect(await after(life.created)).toMatchObject({ plan: "free", history: [], subscriptions: [] });
    const again = () =>
      world.app.call("POST", "/api/pricing/checkout-session", { token: buyer.token, body: { quote_id: quoteId } });
    expect((await again()).body).toMatchObject({ id: session, status: "open", url: expect.any(String) as string });
    expect(await after(life.completed)).toMatchObject({ plan: "free", history: [], subscriptions: [] });
    expect((await again()).body).toMatchObject({
      id: session,
      status: "complete",
      payment_status: "unpaid",
      url: null,
    });
    expect(await after(life.paid)).toMatchObject({ plan: "pro", subscriptions: [{ status: "active" }] });
    expect(await again()).toMatchObject({ status: 409, body: { code: "quote_consumed" } });
    expect(await after(life.failed)).toMatchObject({ plan: "pro", subscriptions: [{ status: "past_due" }] });
    expect(await after(life.renewed)).toMatchObject({ plan: "pro", subscriptions: [{ status: "active" }] });
    expect(await after(life.ending)).toMatchObject({ subscriptions: [{ cancel_at_period_end: true }] });
    expect(await after(life.ended)).toMatchObject({ plan: "free", subscriptions: [{ status: "canceled" }] });
  });

  test("of events in one second a failure comes before the payment, whatever their ids", async () => {
    for (const [failedId, paidId] of [
      ["evt_a", "evt_b"],
      ["evt_d", "evt_c"],
    ]) {
      const buyer = await founder(world.app);
      const { session } = await checkedOut(world, buyer.token, "stripe");
      const life = lifeAt(session);
      for (const event of [life.completed, life.paid, { ...life.renewed, id: `${paidId}${some()}` }])
        await stripeEvent(world.app, event);
      await stripeEvent(world.app, { ...life.failed, id: `${failedId}${some()}`, created: life.renewed.created });
      expect(await stateOf(buyer)).toMatchObject({
        history: [{ status: "paid" }, { status: "paid" }],
        subscriptions: [{ status: "active" }],
      });
    }
  });

  test("fifty parallel deliveries of one event have one effect", async () => {
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    await stripeEvent(world.app, life.completed);
    const answers = await Promise.all(Array.from({ length: 50 }, () => stripeEvent(world.app, life.paid)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await stateOf(buyer)).history).toHaveLength(1);
  });

  test("a plan that a platform admin has set is not lowered, and comes back after a subscription", async () => {
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    await setPlan(buyer.org, "enterprise");
    await stripeEvent(world.app, life.completed);
    await stripeEvent(world.app, life.paid);
    expect((await stateOf(buyer)).plan).toBe("enterprise");
    await stripeEvent(world.app, life.ended);
    expect((await stateOf(buyer)).plan).toBe("enterprise");
  });

  test("a plan that a platform admin sets while it is paid for stays after the subscription", async () => {
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    await stripeEvent(world.app, life.completed);
    await stripeEvent(world.app, life.paid);
    expect((await stateOf(buyer)).plan).toBe("pro");
    for (let time = 0; time < 2; time++) await setPlan(buyer.org, "pro");
    expect(await auditOf(world.app, buyer, "organization.updated")).toMatchObject([
      { metadata: { before: { plan: "pro", admin_plan: null }, after: { plan: "pro", admin_plan: "pro" } } },
    ]);
    await stripeEvent(world.app, life.ended);
    expect((await stateOf(buyer)).plan).toBe("pro");
  });

  test("another sum or currency than the quoted one grants nothing", async () => {
    for (const change of [{ amount_paid: 1 }, { currency: "eur" }]) {
      const buyer = await founder(world.app);
      const { session } = await checkedOut(world, buyer.token, "stripe");
      const life = lifeAt(session);
      await stripeEvent(world.app, life.completed);
      const object = { ...life.paid.data.object, ...change };
      await stripeEvent(world.app, { ...life.paid, data: { object } });
      expect(await stateOf(buyer)).toMatchObject({ plan: "free", subscriptions: [] });
    }
  });

  test("a renewal of another sum or currency renews nothing", async () => {
    for (const change of [{ amount_paid: 1 }, { currency: "eur" }]) {
      const buyer = await founder(world.app);
      const life = lifeAt((await checkedOut(world, buyer.token, "stripe")).session);
      for (const event of [life.completed, life.created, life.paid, life.failed, life.pastDue])
        await stripeEvent(world.app, event);
      const { subscriptions } = await stateOf(buyer);
      expect(subscriptions).toMatchObject([{ status: "past_due" }]);
      const object = { ...life.renewed.data.object, ...change };
      await stripeEvent(world.app, { ...life.renewed, data: { object } });
      expect((await stateOf(buyer)).subscriptions).toEqual(subscriptions);
    }
  });

  test("a refund is shown with its sum, and is no payment to webhooks", async () => {
    const buyer = await founder(world.app);
    const hook = { url: "http://127.0.0.1:9/", events: ["invoice.paid"] };
    const { webhook_id } = (await world.app.call("POST", "/api/v2/webhooks", { token: buyer.token, body: hook })).body;
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    await stripeEvent(world.app, life.completed);
    await stripeEvent(world.app, life.paid);
    const charge = { id: `ch_${some()}`, invoice: (life.paid.data.object as { id: string }).id, amount_refunded: 400 };
    await stripeEvent(world.app, ofStripe("charge.refunded", START + 10, charge));
    const read = async () => (await world.app.call("GET", "/api/billing/history", { token: buyer.token })).body.data;
    expect(await read()).toMatchObject([{ status: "paid", refunded_amount: 400 }]);
    await stripeEvent(world.app, ofStripe("charge.refunded", START + 11, { ...charge, amount_refunded: 1_100 }));
    expect(await read()).toMatchObject([{ status: "refunded", refunded_amount: 1_100 }]);
    const deliveries = `/api/v2/webhooks/${webhook_id}/deliveries`;
    expect((await world.app.call("GET", deliveries, { token: buyer.token })).body.data).toHaveLength(1);
  });

  test("refunds of Paddle add up, each adjustment once and only when it is approved", async () => {
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "paddle");
    const details = { totals: { grand_total: "1100" } };
    const paid = { id: session, subscription_id: `sub_${some()}`, currency_code: "USD", details };
    await paddleEvent(world.app, ofPaddle("transaction.completed", 0, paid));
    const refund = (id: string, total: string, status: string) => ({
      id,
      action: "refund",
      status,
      transaction_id: session,
      totals: { total },
    });
    const read = async () => (await world.app.call("GET", "/api/billing/history", { token: buyer.token })).body.data;
    const [first, second] = [`adj_${some()}`, `adj_${some()}`];
    await paddleEvent(world.app, ofPaddle("adjustment.created", 10, refund(first, "400", "pending_approval")));
    expect(await read()).toMatchObject([{ status: "paid", refunded_amount: 0 }]);
    await paddleEvent(world.app, ofPaddle("adjustment.updated", 12, refund(first, "400", "approved")));
    await paddleEvent(world.app, ofPaddle("adjustment.created", 11, refund(first, "400", "approved")));
    expect(await read()).toMatchObject([{ status: "paid", refunded_amount: 400 }]);
    await paddleEvent(world.app, ofPaddle("adjustment.created", 13, refund(second, "400", "approved")));
    expect(await read()).toMatchObject([{ status: "paid", refunded_amount: 800 }]);
    await paddleEvent(world.app, ofPaddle("adjustment.created", 14, refund(`adj_${some()}`, "300", "approved")));
    expect(await read()).toMatchObject([{ status: "refunded", refunded_amount: 1_100 }]);
  });

  test("Paddle's events do the same", async () => {
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "paddle");
    const subscription = `sub_${some()}`;
    const transaction = {
      id: session,
      subscription_id: subscription,
      currency_code: "USD",
      details: { totals: { grand_total: "1100" } },
      billing_period: { starts_at: "2026-01-01T00:00:00Z", ends_at: "2026-02-01T00:00:00Z" },
    };
    await paddleEvent(world.app, ofPaddle("subscription.canceled", 99, { id: subscription, status: "canceled" }));
    expect((await paddleEvent(world.app, ofPaddle("transaction.completed", 1, transaction))).status).toBe(200);
    expect(await stateOf(buyer)).toMatchObject({
      plan: "free",
      history: [{ amount: 1_100, status: "paid" }],
      subscriptions: [{ status: "canceled", current_period_end: "2026-02-01T00:00:00Z" }],
    });
  });

  test("unsigned, forged, old and malformed events return 400 signature_invalid and keep nothing", async () => {
    const count = async () =>
      (await runSql<{ n: string }>(world.app.databaseUrl, "select count(*) as n from provider_events"))[0]?.n;
    const before = await count();
    const event = ofStripe("invoice.paid", START, {});
    const invalid = { status: 400, body: { code: "signature_invalid" } };
    const time = Math.floor(world.app.clock.now() / 1000);
    for (const header of ["", "t=1,v1=00", `t=${time},v1=${"0".repeat(64)}`, "nonsense"])
      expect(await stripeEvent(world.app, event, header)).toMatchObject(invalid);
    expect(await paddleEvent(world.app, { event_id: "x" })).toMatchObject(invalid);
    const unsigned = await world.app.call("POST", "/api/billing/webhooks/stripe", { body: event });
    expect(unsigned).toMatchObject(invalid);
    expect(await count()).toBe(before);
  });

  test("the time of a right signature is at most 300 seconds off, either way", async () => {
    const { app } = world;
    const sent = async (offset: number) => {
      const event = { event_id: `evt_${some()}`, event_type: "report.created", occurred_at: "2026-01-01T00:00:00Z" };
      const stripe = await stripeEvent(app, ofStripe("customer.created", START, { id: "cus_x" }), undefined, offset);
      return [stripe, await paddleEvent(app, event, offset)].map(({ status, body }) => body.code ?? status);
    };
    for (const offset of [-299, 299]) expect(await sent(offset), `${offset}`).toEqual([200, 200]);
    for (const offset of [-301, 301])
      expect(await sent(offset), `${offset}`).toEqual(["signature_invalid", "signature_invalid"]);
  });

  test("ten signatures of which one is right pass, and events of unknown types and customers are kept", async () => {
    const event = { event_id: `evt_${some()}`, event_type: "report.created", occurred_at: "2026-01-01T00:00:00Z" };
    const wrong = Array.from({ length: 9 }, () => `h1=${randomBytes(32).toString("hex")};`).join("");
    expect(await paddleEvent(world.app, event, 299, wrong)).toMatchObject({ status: 200, body: { received: true } });
    const unknown = ofStripe("invoice.paid", START, { id: "in_x", amount_paid: 5, currency: "usd", subscription: "s" });
    expect((await stripeEvent(world.app, unknown)).status).toBe(200);
  });
});
