import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { act, billingWorld, bodyOf } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

/** A quote of a new price of the plan `pro`, in a currency. */
async function quoted(token: string, currency: string, amount: number, taxPercent = 0): Promise<string> {
  const price = { product: "Pro", plan: "pro", interval: "month", currency, unit_amount_cents: amount };
  const made = await world.app.call("POST", "/api/admin/pricing/prices", {
    token: await world.app.login(),
    body: { ...price, tax_percent: taxPercent },
  });
  const quote = await world.app.call("POST", "/api/pricing/quote", { token, body: { price_id: made.body.price_id } });
  expect(quote.body).toMatchObject({ currency, unit_amount_cents: amount });
  return quote.body.quote_id as string;
}

const checkout = (token: string, quote_id: string, provider: string) =>
  world.app.call("POST", "/api/pricing/checkout-session", { token, body: { quote_id, provider } });

test.each([
  ["isk", 5_000, "500000"],
  ["ugx", 40_000, "4000000"],
  ["mga", 500_000, "5000"],
  ["kwd", 1_230, "1230"],
  ["jpy", 1_500, "1500"],
  ["huf", 150_000, "150000"],
])("a price in %s is charged in Stripe's units, and paid and refunded in those of ISO 4217", async (...of) => {
  const [currency, amount, units] = of;
  const buyer = await founder(world.app);
  const opened = await checkout(buyer.token, await quoted(buyer.token, currency, amount), "stripe");
  expect(opened).toMatchObject({ status: 200, body: { amount_total_cents: amount, currency } });
  expect(bodyOf(world.provider.calls.at(-1))["line_items[0][price_data][unit_amount]"]).toBe(units);
  await act(opened.body.url as string, "pay");
  await world.provider.settled();
  const read = async (path: string) => (await world.app.call("GET", path, { token: buyer.token })).body;
  expect((await read("/api/billing/history")).data).toMatchObject([{ amount, currency, status: "paid" }]);
  expect(await read(`/api/organizations/${buyer.org}`)).toMatchObject({ plan: "pro" });
  const payment = world.provider.ledger.payments.at(-1);
  if (payment === undefined) throw new Error("nothing was paid");
  world.provider.acts.refund(payment, payment.total / 2);
  await world.provider.settled();
  expect((await read("/api/billing/history")).data).toMatchObject([{ refunded_amount: amount / 2, status: "paid" }]);
});

test.each([
  ["kwd", 1_235, 0, "has a third decimal place"],
  ["kwd", 1_000, 12.5, "has a tax of a third decimal place"],
  ["mga", 500_050, 0, "has a fraction of an ariary"],
  ["isk", 1_000_000, 0, "has too many digits"],
])("a checkout of %s %i with %f per cent tax returns 400 currency_unsupported at Stripe: it %s", async (...of) => {
  const [currency, amount, tax] = of;
  const { token } = world.buyer;
  const quoteId = await quoted(token, currency, amount, tax);
  const before = world.provider.calls.length;
  const refused = { status: 400, body: { code: "currency_unsupported" } };
  for (let nth = 0; nth < 2; nth++) expect(await checkout(token, quoteId, "stripe")).toMatchObject(refused);
  expect(world.provider.calls).toHaveLength(before);
});

test.each([
  ["paddle", "kwd", 1_230, "is no currency that it sells in"],
  ["stripe", "usd", 49, "is less than it charges"],
])("a checkout at %s of %s %i, which %s, returns 400 currency_unsupported", async (...of) => {
  const [provider, currency, amount] = of;
  const { token } = await founder(world.app);
  const quoteId = await quoted(token, currency, amount);
  const other = provider === "stripe" ? "paddle" : "stripe";
  const refused = { status: 400, body: { code: "currency_unsupported" } };
  for (let nth = 0; nth < 2; nth++) expect(await checkout(token, quoteId, provider)).toMatchObject(refused);
  expect(await checkout(token, quoteId, other)).toMatchObject({ status: 200, body: { provider: other } });
});
