import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { billingWorld } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

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

  test("a person's cards belong to one organization", async () => {
    const { token, email } = await founder(world.app);
    const body = { name: `Further of ${email}` };
    const further = (await world.app.call("POST", "/api/organizations", { token, body })).body.access_token as string;
    const { id } = (await add({ provider: "stripe", payment_method_token: "pm_here" }, token)).body;
    expect((await cards(token)).map((card: { id: string }) => card.id)).toEqual([id]);
    expect(await cards(further)).toEqual([]);
    for (const [method, path, wish] of [
      ["DELETE", `/api/billing/cards/${id}`, undefined],
      ["PUT", "/api/billing/cards/default", { card_id: id }],
    ] as const) {
      const answer = await world.app.call(method, path, { token: further, body: wish });
      expect(answer).toMatchObject({ status: 404, body: { code: "card_not_found" } });
    }
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

  test.each([
    ["numbers", Array.from({ length: 40_000 }, () => 3e300)],
    ["runs of digits", `${"3".repeat(80)}a`.repeat(10_000)],
    ["combining marks", `a${"\u0301\u0316".repeat(60_000)}`],
    ["letters that become combining marks", `a${"\u0301\uFF9E".repeat(60_000)}`],
  ])("a body of %s without a card number is read in less than a second of CPU", async (_name, note) => {
    const body = { provider: "paypal", payment_method_token: "pm_x", note };
    const before = process.cpuUsage();
    const answer = await add(body);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
    expect(answer).toMatchObject({ status: 404, body: { code: "provider_unknown" } });
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
    ] as const)
      expect(await add(body)).toMatchObject({ status, body: { code } });
    const method = { provider: "stripe", payment_method_token: "pm_1" };
    for (const [body, field, code] of [
      [{}, "provider", "required"],
      [{ provider: "stripe" }, "payment_method_token", "required"],
      [{ ...method, provider: 1 }, "provider", "type"],
      [{ ...method, payment_method_token: ["pm_1"] }, "payment_method_token", "type"],
      [{ ...method, payment_method_token: "x".repeat(256) }, "payment_method_token", "too_long"],
      [{ ...method, make_default: "yes" }, "make_default", "type"],
    ] as const)
      expect(await add(body)).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field, code, message: expect.any(String) }] },
      });
    world.provider.mode = "broken";
    expect(await add({ provider: "stripe", payment_method_token: "pm_1" })).toMatchObject({
      status: 502,
      body: { code: "provider_error" },
    });
    world.provider.mode = "working";
  });

  test("an id of a payment method that leaves its path at Paddle returns 422 and is not read", async () => {
    const [victim, thief] = [await founder(world.app), await founder(world.app)];
    const { addresses, customers } = world.provider.ledger;
    for (const [nth, { email }] of [victim, thief].entries()) {
      customers.add(`ctm_${nth}`);
      addresses.set(email, { id: `ctm_${nth}`, organization: undefined });
    }
    for (const id of [
      "../../ctm_0/payment-methods/paymtd_1",
      "paymtd_1/../../ctm_0",
      "..",
      "paymtd_1?x=1",
      "paymtd_é",
    ]) {
      const before = world.provider.calls.length;
      expect(await add({ provider: "paddle", payment_method_token: id }, thief.token), id).toMatchObject({
        status: 422,
        body: { code: "card_declined" },
      });
      expect(world.provider.calls.slice(before).filter(({ path }) => path.includes("ctm"))).toEqual([]);
    }
    expect((await add({ provider: "paddle", payment_method_token: "paymtd_1" }, thief.token)).status).toBe(201);
    expect(world.provider.calls.at(-1)?.path).toBe("/customers/ctm_1/payment-methods/paymtd_1");
  });

  test("a card at Paddle of somebody whom Paddle does not know returns 422 and makes no customer", async () => {
    const { token, email } = await founder(world.app);
    const body = { provider: "paddle", payment_method_token: "paymtd_none" };
    expect(await add(body, token)).toMatchObject({ status: 422, body: { code: "card_declined" } });
    expect(world.provider.ledger.addresses.has(email)).toBe(false);
  });
});
