import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder, member } from "../support/people.ts";
import {
  billingWorld,
  bodyOf,
  checkedOut,
  confirmed,
  ofPaddle,
  ofStripe,
  paddleEvent,
  stripeEvent,
} from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
  for (const known of ["cus_new", "cus_old", "cus_there"]) world.provider.ledger.customers.add(known);
});
afterAll(() => world.close());

const START = 1_760_000_000;
let nth = 0;

/** The events that pay a checkout at Stripe, for a customer. */
function paid(session: string, customer: string, second = 0, change: object = {}) {
  const [subscription, invoice] = [`sub_o${++nth}`, `in_o${nth}`];
  return [
    ofStripe("checkout.session.completed", START + second, { id: session, mode: "subscription", subscription }),
    ofStripe("invoice.paid", START + second + 1, {
      id: invoice,
      customer,
      currency: "usd",
      amount_paid: 1_100,
      subscription,
      ...change,
    }),
  ];
}

async function pay(token: string, customer: string, second = 0, change: object = {}): Promise<void> {
  const { session } = await checkedOut(world, token, "stripe");
  for (const event of paid(session, customer, second, change)) await stripeEvent(world.app, event);
}

describe("the customer portal", () => {
  const open = (token: string, body: object = {}) =>
    world.app.call("POST", "/api/billing/portal-session", { token, body });

  test("an organization that has paid opens the portal of its newest customer, for five minutes", async () => {
    const buyer = await founder(world.app);
    expect(await open(buyer.token)).toMatchObject({ status: 409, body: { code: "conflict" } });
    await pay(buyer.token, "cus_new", 100);
    await pay(buyer.token, "cus_old", 50);
    const before = world.app.clock.now();
    const opened = await open(buyer.token);
    expect(opened).toMatchObject({
      status: 200,
      body: { url: expect.stringContaining(`${world.provider.url}/portal/bps_`) },
    });
    expect(opened.headers.get("cache-control")).toBe("no-store");
    expect(Date.parse(opened.body.expires_at)).toBe(before + 300_000);
    expect(bodyOf(world.provider.calls.at(-1))).toMatchObject({
      customer: "cus_new",
      return_url: "http://atrium.test",
    });
    expect(await open(buyer.token, { provider: "paddle" })).toMatchObject({ status: 409, body: { code: "conflict" } });
    const events = await world.app.call("GET", `/api/organizations/${buyer.org}/audit-events?limit=5`, {
      token: buyer.token,
    });
    expect(JSON.stringify(events.body)).toContain("billing_portal.opened");
  });

  test("who has only stored a card opens their own portal", async () => {
    const person = await founder(world.app);
    const body = { provider: "stripe", payment_method_token: "pm_portal" };
    expect((await world.app.call("POST", "/api/billing/cards", { token: person.token, body })).status).toBe(201);
    expect((await open(person.token)).body.url).toContain("/portal/bps_");
    const colleague = await founder(world.app);
    expect(await open(colleague.token)).toMatchObject({ status: 409, body: { code: "conflict" } });
  });

  test("a request without a body opens the portal", async () => {
    const { token } = await founder(world.app);
    const body = { provider: "stripe", payment_method_token: "pm_bodiless" };
    expect((await world.app.call("POST", "/api/billing/cards", { token, body })).status).toBe(201);
    expect(await world.app.call("POST", "/api/billing/portal-session", { token })).toMatchObject({
      status: 200,
      body: { url: expect.stringContaining("/portal/bps_") },
    });
  });

  test("a customer of Paddle alone is known without naming the provider", async () => {
    const buyer = await confirmed(world.app);
    await checkedOut(world, buyer.token, "paddle");
    const { customer_id: customer } = bodyOf(world.provider.calls.at(-1));
    expect(await open(buyer.token)).toMatchObject({
      status: 200,
      body: { url: expect.stringContaining(`${world.provider.url}/portal/cpls_`) },
    });
    expect(world.provider.calls.at(-1)?.path).toBe(`/customers/${String(customer)}/portal-sessions`);
  });

  test("refusals come in the documented order", async () => {
    const buyer = await founder(world.app);
    const employee = await member(world.app, buyer);
    await pay(buyer.token, "cus_gone");
    for (const [body, token, status, code] of [
      [{ provider: "paypal" }, employee.token, 403, "forbidden"],
      [{ return_url: "https://elsewhere.test/" }, buyer.token, 400, "validation_error"],
      [{ return_url: "javascript:alert(1)" }, buyer.token, 400, "validation_error"],
      [{ provider: "paypal" }, buyer.token, 404, "provider_unknown"],
      [{ provider: "stripe" }, buyer.token, 409, "conflict"],
    ] as const)
      expect(await open(token, body), JSON.stringify(body)).toMatchObject({ status, body: { code } });
    await pay(buyer.token, "cus_there", 10);
    world.provider.mode = "broken";
    expect(await open(buyer.token)).toMatchObject({ status: 502, body: { code: "provider_error" } });
    world.provider.mode = "working";
    expect((await open(buyer.token, { return_url: "http://atrium.test/billing" })).status).toBe(200);
  });
});

describe("unmatched payments", () => {
  const list = async (query = "") => {
    const answer = await world.app.call("GET", `/api/operator/billing/unmatched${query}`, { token: world.admin });
    expect(answer.status).toBe(200);
    return answer.body;
  };

  test("the operator sees what was paid and granted nothing, with the reason, until it is matched", async () => {
    world.admin = await world.app.login();
    const known = new Set((await list()).data.map((item: { event_id: string }) => item.event_id));
    const buyer = await founder(world.app);
    await pay(buyer.token, "cus_less", 1, { amount_paid: 1_099 });
    await pay(buyer.token, "cus_other", 2, { currency: "eur" });
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const [completed, invoice] = paid(session, "cus_late", 3) as [object, { id: string }];
    await stripeEvent(world.app, invoice);
    const huge = ofStripe("invoice.paid", START, { id: "in_huge", currency: "usd", amount_paid: 9_000_000_000_000 });
    await stripeEvent(world.app, huge);
    const failed = ofStripe("invoice.payment_failed", START, { id: "in_no", currency: "usd", amount_due: 5 });
    await stripeEvent(world.app, failed);
    const fresh = async () =>
      (await list()).data.filter((item: { event_id: string }) => !known.has(item.event_id)) as object[];
    const reasons = (items: object[]) => items.map((item) => (item as { reason: string }).reason).sort();
    const before = await fresh();
    expect(reasons(before)).toEqual(["amount_mismatch", "currency_mismatch", "unknown_purchase", "unknown_purchase"]);
    expect(before).toContainEqual({
      provider: "stripe",
      event_id: huge.id,
      type: "invoice.paid",
      amount: 9_000_000_000_000,
      currency: "usd",
      received_at: expect.any(String),
      reason: "unknown_purchase",
    });
    await stripeEvent(world.app, completed);
    expect(reasons(await fresh())).toEqual(["amount_mismatch", "currency_mismatch", "unknown_purchase"]);
    expect(await list("?limit=1&offset=1")).toMatchObject({ limit: 1, offset: 1, data: [expect.any(Object)] });
    const [newest, oldest] = [await list("?sort=-received_at"), await list("?sort=received_at")];
    const times = (body: { data: { received_at: string }[] }) => body.data.map((item) => item.received_at);
    expect(times(oldest)).toEqual(times(oldest).toSorted());
    expect(times(newest)).toEqual(times(await list()));
    expect((await list(`?q=${huge.id.toUpperCase()}`)).data).toMatchObject([{ event_id: huge.id }]);
    expect(await list("?q=nothing%25")).toMatchObject({ data: [], total: 0 });
    const refused = await world.app.call("GET", "/api/operator/billing/unmatched", { token: buyer.token });
    expect(refused).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });

  test("the operator sees refunds of no known purchase, until one is known", async () => {
    world.admin = await world.app.login();
    const buyer = await founder(world.app);
    const { session } = await checkedOut(world, buyer.token, "stripe");
    const intent = `pi_${++nth}`;
    const object = { id: `ch_${nth}`, payment_intent: intent, currency: "isk", amount_refunded: 30_000 };
    const stripe = ofStripe("charge.refunded", START + 10, object);
    const adjustment = { id: `adj_${nth}`, action: "refund", transaction_id: `txn_${nth}`, currency_code: "EUR" };
    const [approved, pending, reversed] = ["approved", "pending_approval", "reversed"].map((status) =>
      ofPaddle("adjustment.created", 10, { ...adjustment, status, totals: { total: "250" } }),
    ) as [{ event_id: string }, object, object];
    await stripeEvent(world.app, stripe);
    for (const event of [approved, pending, reversed]) await paddleEvent(world.app, event);
    const refunds = async () => ({
      stripe: (await list(`?q=${stripe.id}`)).data as object[],
      paddle: (await list("?q=adjustment")).data as object[],
    });
    const unknown = { reason: "unknown_purchase", received_at: expect.any(String) };
    expect(await refunds()).toEqual({
      stripe: [
        { provider: "stripe", event_id: stripe.id, type: "charge.refunded", amount: 300, currency: "isk", ...unknown },
      ],
      paddle: [
        {
          provider: "paddle",
          event_id: approved.event_id,
          type: "adjustment.created",
          amount: 250,
          currency: "eur",
          ...unknown,
        },
      ],
    });
    const completed = { id: session, mode: "payment", payment_status: "paid", amount_total: 1_100, currency: "usd" };
    await stripeEvent(
      world.app,
      ofStripe("checkout.session.completed", START + 9, { ...completed, payment_intent: intent }),
    );
    expect((await refunds()).stripe).toEqual([]);
  });
});
