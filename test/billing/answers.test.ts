import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publishApp } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { Answer } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { act, billingWorld, checkedOut, confirmed } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/u) as string;
const post = (path: string, body: object, token = world.buyer.token): Promise<Answer> =>
  world.app.call("POST", path, { token, body });

test.each(["a price", "an install"])("the token of a quote of %s has every field of the quote", async (what) => {
  const { slug } = await publishApp(world.app, (await founder(world.app)).token, world.admin);
  const install = await post(`/api/marketplace/${slug}/install`, { quantity: 3 });
  const wish = what === "a price" ? { price_id: world.priceId, seats: 3 } : { install_id: install.body.install_id };
  const { token, ...quote } = (await post("/api/pricing/quote", wish)).body;
  expect(Object.keys(quote).toSorted()).toEqual([
    ...["currency", "expires_at", "install_id", "issued_at", "price_id", "quote_id", "region", "seats", "status"],
    ...["subtotal_cents", "tax_cents", "total_cents", "unit_amount_cents"],
  ]);
  const { issued_at, expires_at, ...claims } = decodeJwt<Record<string, string>>(token as string);
  const [iat, exp] = [quote.issued_at, quote.expires_at].map((time: string) => Date.parse(time));
  expect([issued_at, expires_at].map((time = "") => Date.parse(time))).toEqual([iat, exp]);
  delete quote.issued_at;
  delete quote.expires_at;
  expect(claims).toEqual({
    ...quote,
    iss: "http://atrium.test",
    org: world.buyer.org,
    jti: uuid,
    iat: (iat ?? 0) / 1_000,
    exp: (exp ?? 0) / 1_000,
  });
});

test("a preview without region and address has the default row, wherever the client is", async () => {
  const proxied = await startApp({
    databaseUrl: world.app.databaseUrl,
    clock: world.app.clock,
    env: { SERVICE_TRUSTED_PROXIES: "127.0.0.1" },
  });
  try {
    const price = { product: "Seats", interval: "month", currency: "usd", unit_amount_cents: 1_000 };
    const regions = [{ region: "DE", currency: "eur", unit_amount_cents: 900 }];
    const { price_id } = (await post("/api/admin/pricing/prices", { ...price, regions }, world.admin)).body;
    const seen = async (more: object): Promise<unknown[]> => {
      const headers = { "x-forwarded-for": "5.9.0.1" };
      const body = { price_id, ...more };
      const answer = await proxied.call("POST", "/api/pricing/preview", { token: world.buyer.token, headers, body });
      return [answer.body.region, answer.body.total_cents];
    };
    expect(await seen({})).toEqual(["default", 1_000]);
    expect(await seen({ ip_address: "5.9.0.1" })).toEqual(["DE", 900]);
  } finally {
    await proxied.close();
  }
});

describe("a checkout that names no provider", () => {
  const opened = async (call: BillingWorld["app"]["call"], token: string): Promise<Answer> => {
    const wish = { token, body: { price_id: world.priceId } };
    const quote_id = (await call("POST", "/api/pricing/quote", wish)).body.quote_id as string;
    return call("POST", "/api/pricing/checkout-session", { token, body: { quote_id } });
  };

  test("is at Stripe where both are configured, and at Paddle where that is the only one", async () => {
    const buyer = await confirmed(world.app);
    expect((await opened(world.app.call, buyer.token)).body).toMatchObject({ provider: "stripe" });
    const alone = await startApp({
      databaseUrl: world.app.databaseUrl,
      clock: world.app.clock,
      env: {
        SERVICE_PADDLE_API_KEY: "pdl_test_key",
        SERVICE_PADDLE_WEBHOOK_SECRET: "whsec_test_secret",
        SERVICE_PADDLE_API_BASE: world.provider.url,
      },
    });
    try {
      expect((await opened(alone.call, buyer.token)).body).toMatchObject({ provider: "paddle" });
      const { status, body } = await alone.call("POST", "/api/billing/webhooks/stripe", { body: {} });
      expect([status, body.code]).toEqual([503, "provider_not_configured"]);
    } finally {
      await alone.close();
    }
  });
});

test.each([
  ["stripe", expect.stringMatching(/^in_/u)],
  ["paddle", null],
])("a payment and its subscription at %s have the documented members", async (provider, invoice_id) => {
  const buyer = await confirmed(world.app);
  const { quoteId, session, url } = await checkedOut(world, buyer.token, provider);
  const { body: again } = await post("/api/pricing/checkout-session", { quote_id: quoteId, provider }, buyer.token);
  expect(again).toEqual({
    id: session,
    provider,
    url,
    status: "open",
    payment_status: "unpaid",
    amount_total_cents: 1_100,
    currency: "usd",
    quote_id: quoteId,
    expires_at: expect.any(String),
  });
  expect(Date.parse(again.expires_at)).toBeGreaterThan(world.app.clock.now());
  await act(url, "pay");
  await world.provider.settled();
  const list = async (what: string) =>
    (await world.app.call("GET", `/api/billing/${what}`, { token: buyer.token })).body.data;
  const [payment] = await list("history");
  const [subscription] = await list("subscriptions");
  const [begin, end] = [payment.period_start, payment.period_end] as string[];
  expect(payment).toEqual({
    id: expect.any(Number),
    amount: 1_100,
    currency: "usd",
    status: "paid",
    refunded_amount: 0,
    provider,
    description: "Pro",
    quote_id: quoteId,
    subscription_id: subscription.subscription_id,
    install_id: null,
    invoice_id,
    invoice_url: null,
    period_start: expect.any(String),
    period_end: expect.any(String),
    created_at: expect.any(String),
  });
  expect(subscription).toEqual({
    subscription_id: uuid,
    provider,
    price_id: world.priceId,
    plan: "pro",
    install_id: null,
    seats: 1,
    status: "active",
    current_period_start: begin,
    current_period_end: end,
    cancel_at_period_end: false,
    created_at: expect.any(String),
  });
});
