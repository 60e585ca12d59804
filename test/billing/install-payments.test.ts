import { afterAll, beforeAll, expect, test } from "vitest";
import { publishApp } from "../matrix/world.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { act, billingWorld, bodyOf, ofStripe, some, START, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

const MONTH = 2_592_000;

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

test("an install that was paid once and for all has no end, unless that is paid back", async () => {
  const [publisher, buyer] = [await founder(world.app), await founder(world.app)];
  const { slug } = await publishApp(world.app, publisher.token, world.admin);
  const post = (path: string, body: object) => world.app.call("POST", path, { token: buyer.token, body });
  const { install_id: installId } = (await post(`/api/marketplace/${slug}/install`, {})).body;
  /** Opens a checkout of the install; its plan may have had another interval before. */
  const checkout = async (interval: string) => {
    const {
      quote_id: quoteId,
      total_cents: total,
      currency,
    } = (await post("/api/pricing/quote", { install_id: installId })).body;
    await runSql(world.app.databaseUrl, "update quotes set interval = $2 where quote_id = $1", [quoteId, interval]);
    const session = await post("/api/pricing/checkout-session", { quote_id: quoteId, provider: "stripe" });
    expect(session.status).toBe(200);
    return { id: session.body.id as string, total: total as number, currency: currency as string };
  };
  const endAfter = async (type: string, second: number, object: object): Promise<string | null> => {
    expect((await stripeEvent(world.app, ofStripe(type, START + second, object))).status).toBe(200);
    const install = await world.app.call("GET", `/api/installs/${installId}`, { token: buyer.token });
    return (install.body.current_period_end as string | undefined) ?? null;
  };

  const [monthly, once] = [await checkout("month"), await checkout("once")];
  const [subscription, invoice, intent] = [`sub_${some()}`, `in_${some()}`, `pi_${some()}`];
  const end = START + MONTH;
  await endAfter("checkout.session.completed", 0, { id: monthly.id, mode: "subscription", subscription });
  const month = await endAfter("invoice.paid", 1, {
    id: invoice,
    currency: monthly.currency,
    amount_paid: monthly.total,
    subscription,
    lines: { data: [{ period: { start: START, end } }] },
  });
  expect(Date.parse(month ?? "")).toBe(end * 1_000);
  const forGood = await endAfter("checkout.session.completed", 2, {
    id: once.id,
    mode: "payment",
    payment_status: "paid",
    amount_total: once.total,
    currency: once.currency,
    payment_intent: intent,
  });
  expect(forGood).toBeNull();
  const state = { id: subscription, status: "active", cancel_at_period_end: false };
  expect(await endAfter("customer.subscription.updated", 3, state)).toBeNull();
  const charge = { id: `ch_${some()}`, payment_intent: intent };
  expect(await endAfter("charge.refunded", 4, { ...charge, amount_refunded: 1 })).toBeNull();
  expect(await endAfter("charge.refunded", 5, { ...charge, amount_refunded: once.total })).toBe(month);
});

test.each(["stripe", "paddle"])("what an install costs has the name of its app, with %s", async (provider) => {
  const [publisher, buyer] = [await founder(world.app), await founder(world.app)];
  const { appId, slug } = await publishApp(world.app, publisher.token, world.admin);
  const name = `${"Long names ".repeat(15)}${some()}`;
  await runSql(world.app.databaseUrl, "update apps set name = $2 where app_id = $1", [appId, name]);
  const post = (path: string, body: object) => world.app.call("POST", path, { token: buyer.token, body });
  const { install_id: installId } = (await post(`/api/marketplace/${slug}/install`, {})).body;
  const { quote_id: quoteId } = (await post("/api/pricing/quote", { install_id: installId })).body;
  const opened = await post("/api/pricing/checkout-session", { quote_id: quoteId, provider });
  expect(opened.status).toBe(200);
  expect(Object.values(bodyOf(world.provider.calls.at(-1))).flatMap((value) => JSON.stringify(value))).toContainEqual(
    expect.stringContaining(name),
  );
  await act(opened.body.url as string, "pay");
  await world.provider.settled();
  const history = await world.app.call("GET", "/api/billing/history", { token: buyer.token });
  expect(history.body.data).toMatchObject([{ description: name, install_id: installId, provider }]);
});
