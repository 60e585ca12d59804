import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder, member } from "../support/people.ts";
import { startApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import {
  billingWorld,
  bodyOf,
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

describe("a checkout", () => {
  const open = (body: object, token = world.buyer.token) =>
    world.app.call("POST", "/api/pricing/checkout-session", { token, body });
  const quote = async (token = world.buyer.token): Promise<string> =>
    (await world.app.call("POST", "/api/pricing/quote", { token, body: { price_id: world.priceId } })).body.quote_id;

  test("fifty requests for one quote open one session with the quoted sum", async () => {
    const quoteId = await quote();
    const before = world.provider.calls.length;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => open({ quote_id: quoteId, provider: "stripe" })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id as string)).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({
      provider: "stripe",
      url: expect.stringContaining(`${world.provider.url}/pay/cs_`),
      status: "open",
      payment_status: "unpaid",
      amount_total_cents: 1_100,
      currency: "usd",
      quote_id: quoteId,
    });
    const calls = world.provider.calls.slice(before);
    expect(calls).toHaveLength(1);
    expect(bodyOf(calls[0])).toMatchObject({
      mode: "subscription",
      "line_items[0][price_data][unit_amount]": "1000",
      "line_items[1][price_data][unit_amount]": "100",
      "line_items[0][price_data][recurring][interval]": "month",
    });
    expect(await open({ quote_id: quoteId, provider: "paddle" })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
  });

  test("Paddle gets the same sum, in its own terms", async () => {
    const answer = await open({ quote_id: await quote(), provider: "paddle" });
    expect(answer).toMatchObject({ status: 200, body: { provider: "paddle", amount_total_cents: 1_100 } });
    const body = bodyOf(world.provider.calls.at(-1));
    expect(body).toMatchObject({
      currency_code: "USD",
      items: [{ price: { unit_price: { amount: "1000" } } }, { price: { unit_price: { amount: "100" } } }],
    });
  });

  test("refusals come in the documented order", async () => {
    const quoteId = await quote();
    const nothing = "0b1d2a3e-aaaa-4000-8000-00000000000f";
    const employee = await member(world.app, world.buyer);
    const stranger = await founder(world.app);
    for (const [body, token, status, code] of [
      [{ quote_id: nothing, provider: "paypal" }, world.buyer.token, 404, "not_found"],
      [{ quote_id: quoteId }, stranger.token, 404, "not_found"],
      [{ quote_id: quoteId }, employee.token, 403, "forbidden"],
      [{ quote_id: quoteId, provider: "paypal" }, world.buyer.token, 404, "provider_unknown"],
      [{ quote_id: quoteId, success_url: "https://elsewhere.test/" }, world.buyer.token, 400, "validation_error"],
      [{ quote_id: "x" }, world.buyer.token, 400, "validation_error"],
    ] as const)
      expect(await open(body, token), JSON.stringify(body)).toMatchObject({ status, body: { code } });
    world.provider.mode = "broken";
    expect(await open({ quote_id: quoteId })).toMatchObject({ status: 502, body: { code: "provider_error" } });
    world.provider.mode = "working";
    expect((await open({ quote_id: quoteId })).status).toBe(200);
    const late = await quote();
    await runSql(world.app.databaseUrl, "update quotes set expires_at = issued_at where quote_id = $1", [late]);
    expect(await open({ quote_id: late })).toMatchObject({ status: 410, body: { code: "quote_expired" } });
  });

  test("without providers the answer is 503 provider_not_configured, after 404 for an unknown quote", async () => {
    const app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
    try {
      const token = await app.login();
      const body = { product: "x", interval: "once", currency: "usd", unit_amount_cents: 5 };
      const made = await app.call("POST", "/api/admin/pricing/prices", { token, body });
      const quoted = await app.call("POST", "/api/pricing/quote", { token, body: { price_id: made.body.price_id } });
      const checkout = (quote_id: string) =>
        app.call("POST", "/api/pricing/checkout-session", { token, body: { quote_id } });
      expect(await checkout(quoted.body.quote_id)).toMatchObject({
        status: 503,
        body: { code: "provider_not_configured" },
      });
      expect((await checkout("0b1d2a3e-aaaa-4000-8000-00000000000f")).body.code).toBe("not_found");
      for (const [name, status, code] of [
        ["stripe", 503, "provider_not_configured"],
        ["paddle", 503, "provider_not_configured"],
        ["paypal", 404, "provider_unknown"],
      ] as const)
        expect(await app.call("POST", `/api/billing/webhooks/${name}`, { body: {} })).toMatchObject({
          status,
          body: { code },
        });
    } finally {
      await app.close();
    }
  });
});

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
    const set = (plan: string) =>
      world.app.call("PATCH", `/api/organizations/${buyer.org}`, { token: world.admin, body: { plan } });
    world.admin = await world.app.login();
    expect((await set("enterprise")).status).toBe(200);
    await stripeEvent(world.app, life.completed);
    await stripeEvent(world.app, life.paid);
    expect((await stateOf(buyer)).plan).toBe("enterprise");
    await stripeEvent(world.app, life.ended);
    expect((await stateOf(buyer)).plan).toBe("enterprise");
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

  test("a refund is shown with its sum", async () => {
    const buyer = await founder(world.app);
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
    for (const offset of [-301, 301]) expect(await paddleEvent(world.app, {}, offset)).toMatchObject(invalid);
    expect(await paddleEvent(world.app, { event_id: "x" })).toMatchObject(invalid);
    const unsigned = await world.app.call("POST", "/api/billing/webhooks/stripe", { body: event });
    expect(unsigned).toMatchObject(invalid);
    expect(await count()).toBe(before);
  });

  test("ten signatures of which one is right pass, and events of unknown types and customers are kept", async () => {
    const event = { event_id: `evt_${some()}`, event_type: "report.created", occurred_at: "2026-01-01T00:00:00Z" };
    const wrong = Array.from({ length: 9 }, () => `h1=${randomBytes(32).toString("hex")};`).join("");
    expect(await paddleEvent(world.app, event, 299, wrong)).toMatchObject({ status: 200, body: { received: true } });
    const unknown = ofStripe("invoice.paid", START, { id: "in_x", amount_paid: 5, currency: "usd", subscription: "s" });
    expect((await stripeEvent(world.app, unknown)).status).toBe(200);
  });
});

describe("cards", () => {
  const add = (body: object, token = world.buyer.token) =>
    world.app.call("POST", "/api/billing/cards", { token, body });
  const cards = async (token: string) => (await world.app.call("GET", "/api/billing/cards", { token })).body.data;

  test("the first card is the default, another can be, and the newest follows a default that is deleted", async () => {
    const { token } = await founder(world.app);
    const first = await add({ provider: "stripe", payment_method_token: "pm_one" }, token);
    expect(first).toMatchObject({
      status: 201,
      body: { provider: "stripe", brand: "visa", last4: "4242", exp_month: 12, exp_year: 2031, is_default: true },
    });
    world.app.clock.advance(1_000);
    const second = await add({ provider: "stripe", payment_method_token: "pm_two" }, token);
    world.app.clock.advance(1_000);
    const third = await add({ provider: "stripe", payment_method_token: "pm_three", make_default: true }, token);
    const defaults = async () =>
      (await cards(token))
        .filter((card: { is_default: boolean }) => card.is_default)
        .map((card: { id: string }) => card.id);
    expect(await defaults()).toEqual([third.body.id]);
    const chosen = await world.app.call("PUT", "/api/billing/cards/default", {
      token,
      body: { card_id: first.body.id },
    });
    expect(chosen).toMatchObject({ status: 200, body: { id: first.body.id, is_default: true } });
    const remove = (id: string, by = token) => world.app.call("DELETE", `/api/billing/cards/${id}`, { token: by });
    expect((await remove(first.body.id, world.buyer.token)).body.code).toBe("card_not_found");
    expect((await remove(first.body.id)).status).toBe(204);
    expect(await defaults()).toEqual([third.body.id]);
    expect((await cards(token)).map((card: { id: string }) => card.id)).toEqual([third.body.id, second.body.id]);
    expect((await remove(first.body.id)).body.code).toBe("card_not_found");
    expect(world.provider.calls.at(-1)?.path).toBe("/v1/payment_methods/pm_one/detach");
  });

  test("a card number anywhere in the body returns 400 raw_card_rejected, in any spelling", async () => {
    for (const body of [
      { provider: "stripe", payment_method_token: "4242424242424242" },
      { provider: "stripe", payment_method_token: "pm_x", number: "4242 4242 4242 4242" },
      { provider: "stripe", payment_method_token: "pm_x", card: { number: 4242424242424242 } },
      { provider: "stripe", payment_method_token: "pm_x", note: ["call", "5555-5555-5555-4444 now"] },
      { provider: "stripe", payment_method_token: "pm_x", "378282246310005": 1 },
      { provider: "paypal", payment_method_token: "４２４２４２４２４２４２４２４２" },
    ])
      expect(await add(body), JSON.stringify(body)).toMatchObject({ status: 400, body: { code: "raw_card_rejected" } });
  });

  test("a member of a card in both spellings returns 400 bad_request over REST and Connect", async () => {
    const card = { provider: "stripe", payment_method_token: "pm_x", paymentMethodToken: "pm_x" };
    expect(await add(card)).toMatchObject({ status: 400, body: { code: "bad_request" } });
    const { token } = world.buyer;
    const answer = await world.app.call("POST", "/atrium.billing.v1.BillingService/AddCard", { token, body: { card } });
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
  });

  test("a card over REST may have 32 levels of JSON, and with 33 returns 400", async () => {
    const { token } = await founder(world.app);
    const nested = (levels: number): string =>
      `{"provider":"stripe","payment_method_token":"pm_deep","x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    const post = (levels: number) => world.app.call("POST", "/api/billing/cards", { token, body: nested(levels) });
    expect(await post(32)).toMatchObject({ status: 201 });
    expect(await post(33)).toMatchObject({ status: 400, body: { code: "bad_request" } });
  });

  test("declined and unknown methods return 422, and other faults their documented answers", async () => {
    for (const token of ["pm_declined", "pm_unknown"])
      expect(await add({ provider: "stripe", payment_method_token: token })).toMatchObject({
        status: 422,
        body: { code: "card_declined" },
      });
    for (const [body, status, code] of [
      [{ provider: "paypal", payment_method_token: "x" }, 404, "provider_unknown"],
      [{ provider: "stripe" }, 400, "validation_error"],
      [{ provider: 1, payment_method_token: "x" }, 400, "validation_error"],
      [{ provider: "stripe", payment_method_token: "pm_1", make_default: "yes" }, 400, "validation_error"],
      [{}, 400, "validation_error"],
    ] as const)
      expect(await add(body)).toMatchObject({ status, body: { code } });
    world.provider.mode = "broken";
    expect(await add({ provider: "stripe", payment_method_token: "pm_1" })).toMatchObject({
      status: 502,
      body: { code: "provider_error" },
    });
    world.provider.mode = "working";
  });
});
