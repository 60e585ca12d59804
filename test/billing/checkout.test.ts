import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder, member } from "../support/people.ts";
import { startApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, bodyOf } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

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
