import { Paddle } from "@paddle/paddle-node-sdk";
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signatureOf } from "../../src/app/dev/payments/deliver.ts";
import { founder } from "../support/people.ts";
import { act, billingWorld, checkedOut, confirmed } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

const planOf = async ({ org, token }: { org: string; token: string }) =>
  (await world.app.call("GET", `/api/organizations/${org}`, { token })).body.plan as string;
const listed = async (what: string, token: string) =>
  (await world.app.call("GET", `/api/billing/${what}`, { token })).body.data as Record<string, unknown>[];

describe.each(["stripe", "paddle"] as const)("with %s", (provider) => {
  test("a person pays on the checkout page, lets a renewal fail, renews and ends it in the portal", async () => {
    const buyer = await confirmed(world.app);
    const { url } = await checkedOut(world, buyer.token, provider);
    expect(await (await fetch(url)).text()).toContain("Pay $11.00");
    expect(await act(url, "decline")).toContain("declined");
    await world.provider.settled();
    expect(await planOf(buyer)).toBe("free");
    await act(url, "pay");
    await world.provider.settled();
    expect(await planOf(buyer)).toBe("pro");
    expect(await listed("subscriptions", buyer.token)).toMatchObject([{ status: "active", provider }]);
    const opened = await world.app.call("POST", "/api/billing/portal-session", {
      token: buyer.token,
      body: { provider },
    });
    const portal = opened.body.url as string;
    const id = /value="renew (sub_\w+)"/u.exec(await (await fetch(portal)).text())?.[1] ?? "";
    world.app.clock.advance(1_000);
    await act(portal, `fail ${id}`);
    await world.provider.settled();
    expect(await listed("subscriptions", buyer.token)).toMatchObject([{ status: "past_due" }]);
    world.app.clock.advance(1_000);
    await act(portal, `renew ${id}`);
    await world.provider.settled();
    expect(await listed("subscriptions", buyer.token)).toMatchObject([{ status: "active" }]);
    const [subscription] = await listed("subscriptions", buyer.token);
    const ended = await world.app.call(
      "DELETE",
      `/api/billing/subscriptions/${String(subscription?.["subscription_id"])}`,
      {
        token: buyer.token,
      },
    );
    expect(ended).toMatchObject({ status: 202, body: { cancel_at_period_end: true } });
    world.app.clock.advance(1_000);
    await act(portal, `end ${id}`);
    await world.provider.settled();
    expect(await listed("subscriptions", buyer.token)).toMatchObject([{ status: "canceled" }]);
    expect(await planOf(buyer)).toBe("free");
  });

  test("a person who leaves the checkout pays nothing", async () => {
    const buyer = await founder(world.app);
    const { url } = await checkedOut(world, buyer.token, provider);
    expect(await act(url, "leave")).toBe(provider === "stripe" ? "http://atrium.test" : null);
    await world.provider.settled();
    expect(await listed("history", buyer.token)).toEqual([]);
  });

  test("a provider that answers with garbage or a flood of headers makes the checkout return 502", async () => {
    const buyer = await founder(world.app);
    for (const mode of ["garbage", "flooding", "broken"] as const) {
      world.provider.mode = mode;
      const quote = await world.app.call("POST", "/api/pricing/quote", {
        token: buyer.token,
        body: { price_id: world.priceId },
      });
      const body = { quote_id: quote.body.quote_id as string, provider };
      const answer = await world.app.call("POST", "/api/pricing/checkout-session", { token: buyer.token, body });
      expect(answer, mode).toMatchObject({ status: 502, body: { code: "provider_error" } });
    }
    world.provider.mode = "working";
  });
});

test.each([
  ["stripe", "pm_kept"],
  ["paddle", "paymtd_kept"],
])("a call that %s refuses says that repeating does not help, and its card stays", async (provider, method) => {
  const { token, email } = await founder(world.app);
  const { addresses, customers } = world.provider.ledger;
  addresses.set(email, { id: "ctm_kept", organization: undefined });
  customers.add("ctm_kept");
  const add = (id: string) =>
    world.app.call("POST", "/api/billing/cards", { token, body: { provider, payment_method_token: id } });
  const added = await add(method);
  const remove = () => world.app.call("DELETE", `/api/billing/cards/${String(added.body.id)}`, { token });
  const answer = (message: string) => ({
    status: 502,
    body: { code: "provider_error", message: expect.stringContaining(message) },
  });
  world.provider.mode = "refusing";
  for (const refused of [await remove(), await add(`${method}_other`)])
    expect(refused).toMatchObject(answer("refused this, and would again"));
  world.provider.mode = "broken";
  expect(await remove()).toMatchObject(answer("try again later"));
  world.provider.mode = "working";
  expect(await listed("cards", token)).toHaveLength(1);
  expect((await remove()).status).toBe(204);
  expect(await listed("cards", token)).toEqual([]);
});

describe("the payment server", () => {
  test("refuses what Stripe and Paddle refuse", async () => {
    const post = async (path: string, type: string, body: string, authorization = "Bearer sk_test_1") => {
      const headers = { "content-type": type, authorization };
      return (await fetch(world.provider.url + path, { method: "POST", headers, body })).status;
    };
    const form = "application/x-www-form-urlencoded";
    expect(await post("/v1/customers", form, "email=a%40b.test")).toBe(200);
    expect(await post("/v1/customers", form, "email=a%40b.test", "")).toBe(401);
    expect(await post("/v1/customers", form, "mail=a%40b.test")).toBe(400);
    expect(await post("/v1/customers", "application/json", "{}")).toBe(400);
    expect(await post("/v1/checkout/sessions", form, "mode=payment&success_url=https://x.test")).toBe(400);
    expect(await post("/v1/billing_portal/sessions", form, "customer=cus_nobody")).toBe(400);
    expect(await post("/transactions", "application/json", "{", "bearer pdl_1")).toBe(400);
    expect(await post("/transactions", "application/json", '{"items":[]}', "bearer pdl_1")).toBe(400);
    expect(await post("/transactions", "application/json", "{}", "bearer nothing")).toBe(403);
  });

  test("signs webhooks so that the SDKs of the providers accept them", async () => {
    const [payload, secret, at] = ['{"id":"evt_1","object":"event"}', "whsec_x", Math.floor(Date.now() / 1000)];
    const stripe = signatureOf("stripe", payload, secret, at)["stripe-signature"] ?? "";
    expect(Stripe.webhooks.constructEvent(payload, stripe, secret)).toMatchObject({ id: "evt_1" });
    const paddle = signatureOf("paddle", payload, secret, at)["paddle-signature"] ?? "";
    expect(await new Paddle("pdl_x").webhooks.isSignatureValid(payload, secret, paddle)).toBe(true);
  });
});
