import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deleteExpiredQuotes } from "../../src/domains/billing/quotes/store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { draftOf } from "../support/market.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { act, billingWorld, bodyOf, checkedOut, lifeAt, ofStripe, some, START, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld();
});
afterAll(() => world.close());

const MONTH = 2_592_000;

async function read(token: string, path: string) {
  const { status, body } = await world.app.call("GET", path, { token });
  expect(status).toBe(200);
  return body;
}

/** An install of an app with one plan, and who has it. */
async function installed(interval: string): Promise<{ buyer: Somebody; installId: string }> {
  const [publisher, buyer] = [await founder(world.app), await founder(world.app)];
  const slug = `app-${randomBytes(6).toString("hex")}`;
  const plans = [{ plan_id: "p", name: "P", price_cents: 12_000, interval }];
  const body = { ...draftOf(slug, "http://127.0.0.1:9/provision"), plans };
  const app = await world.app.call("POST", "/api/marketplace/apps", { token: publisher.token, body });
  const approval = `/api/admin/marketplace/apps/${app.body.app_id}/approve`;
  expect((await world.app.call("POST", approval, { token: world.admin })).status).toBe(200);
  const install = await world.app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} });
  return { buyer, installId: install.body.install_id as string };
}

/** Opens a checkout of an install. */
async function checkout({ token }: Somebody, installId: string, provider = "stripe"): Promise<string> {
  const post = (path: string, body: object) => world.app.call("POST", path, { token, body });
  const quote = await post("/api/pricing/quote", { install_id: installId });
  const session = await post("/api/pricing/checkout-session", { quote_id: quote.body.quote_id, provider });
  expect(session.status).toBe(200);
  return session.body.id as string;
}

describe("an install is charged for what its plan pays for", () => {
  test.each([
    ["year", "subscription", "year"],
    ["month", "subscription", "month"],
    ["once", "payment", undefined],
  ])("a plan with the interval %s", async (interval, mode, recurring) => {
    const { buyer, installId } = await installed(interval);
    await checkout(buyer, installId);
    const stripe = bodyOf(world.provider.calls.at(-1));
    expect(stripe["mode"]).toBe(mode);
    expect(stripe["line_items[0][price_data][recurring][interval]"]).toBe(recurring);
    await checkout(buyer, installId, "paddle");
    const cycle = recurring === undefined ? null : { interval: recurring, frequency: 1 };
    const { items } = bodyOf(world.provider.calls.at(-1)) as { items: { price: { billing_cycle?: object | null } }[] };
    expect(items[0]?.price.billing_cycle ?? null).toEqual(cycle);
  });
});

test("a subscription whose end was requested ends, whatever is paid back meanwhile, until it is resumed", async () => {
  const buyer = await founder(world.app);
  const { url } = await checkedOut(world, buyer.token, "stripe");
  await act(url, "pay");
  await world.provider.settled();
  const subscriptions = "/api/billing/subscriptions";
  const present = async () => (await read(buyer.token, subscriptions)).data[0];
  const { subscription_id: id } = await present();
  world.provider.losesWebhooks = true;
  const ended = await world.app.call("DELETE", `${subscriptions}/${id}`, { token: buyer.token });
  world.provider.losesWebhooks = false;
  expect(ended).toMatchObject({ status: 202, body: { cancel_at_period_end: true } });
  const [paid] = (await read(buyer.token, "/api/billing/history")).data;
  const now = () => Math.floor(world.app.clock.now() / 1_000);
  const refund = { id: `ch_${some()}`, invoice: paid.invoice_id, amount_refunded: 1 };
  await stripeEvent(world.app, ofStripe("charge.refunded", now(), refund));
  expect((await read(buyer.token, "/api/billing/history")).data[0]).toMatchObject({ refunded_amount: 1 });
  expect(await present()).toMatchObject({ status: "active", cancel_at_period_end: true });
  world.app.clock.advance(10_000);
  const external = [...world.provider.ledger.subscriptions.keys()].at(-1);
  const resumed = { id: external, status: "active", cancel_at_period_end: false };
  await stripeEvent(world.app, ofStripe("customer.subscription.updated", now(), resumed));
  expect(await present()).toMatchObject({ status: "active", cancel_at_period_end: false });
});

describe("the plan of an organization", () => {
  test.each([
    ["in the order of the payments", ["pro", "enterprise"]],
    ["against it", ["enterprise", "pro"]],
  ])("is that of the purchase paid last, when events come %s", async (_name, order) => {
    const buyer = await founder(world.app);
    const body = { product: "Enterprise", plan: "enterprise", interval: "month", currency: "usd" };
    const price = await world.app.call("POST", "/api/admin/pricing/prices", {
      token: world.admin,
      body: { ...body, unit_amount_cents: 1_000, tax_percent: 10 },
    });
    const higher = { ...world, priceId: price.body.price_id as number };
    const lives: Record<string, ReturnType<typeof lifeAt>> = {
      pro: lifeAt((await checkedOut(world, buyer.token, "stripe")).session),
      enterprise: lifeAt((await checkedOut(higher, buyer.token, "stripe")).session, START + 100),
    };
    for (const plan of order) {
      for (const event of [lives[plan]?.completed, lives[plan]?.paid]) await stripeEvent(world.app, event ?? {});
      world.app.clock.advance(1_000);
    }
    expect(await read(buyer.token, `/api/organizations/${buyer.org}`)).toMatchObject({ plan: "enterprise" });
  });
});

test("a refund that names a payment intent alone belongs to the payment that was made by it", async () => {
  const buyer = await founder(world.app);
  const { session } = await checkedOut(world, buyer.token, "stripe");
  const [subscription, first, second] = [`sub_${some()}`, `pi_${some()}`, `pi_${some()}`];
  const invoice = { currency: "usd", amount_paid: 1_100, subscription };
  const [old, renewed] = [`in_${some()}`, `in_${some()}`];
  const payments = { data: [{ payment: { type: "payment_intent", payment_intent: second } }] };
  for (const [type, second_, object] of [
    ["checkout.session.completed", 0, { id: session, mode: "subscription", subscription }],
    ["invoice.paid", 1, { ...invoice, id: old, payment_intent: first }],
    ["invoice.paid", MONTH, { ...invoice, id: renewed, payments }],
    ["charge.refunded", MONTH + 1, { id: `ch_${some()}`, payment_intent: second, amount_refunded: 1_100 }],
  ] as const)
    expect((await stripeEvent(world.app, ofStripe(type, START + second_, object))).status).toBe(200);
  const { data } = await read(buyer.token, "/api/billing/history");
  expect(new Map(data.map((row: Record<string, unknown>) => [row["invoice_id"], row["status"]]))).toEqual(
    new Map([
      [old, "paid"],
      [renewed, "refunded"],
    ]),
  );
});

test("who watches an install sees its payment", async () => {
  const { buyer, installId } = await installed("month");
  const session = await checkout(buyer, installId);
  const over = new AbortController();
  const watch = await fetch(`${world.app.url}/api/installs/${installId}/watch`, {
    headers: { authorization: `Bearer ${buyer.token}` },
    signal: over.signal,
  });
  const sources: string[] = [];
  for await (const part of watch.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    for (const line of part.split("\n").filter((one) => one !== ""))
      sources.push((JSON.parse(line) as { payment_source: string }).payment_source);
    if (sources.length > 1) break;
    const subscription = `sub_${some()}`;
    const paid = { id: `in_${some()}`, currency: "usd", amount_paid: 12_000, subscription };
    await stripeEvent(world.app, ofStripe("checkout.session.completed", START, { id: session, subscription }));
    await stripeEvent(world.app, ofStripe("invoice.paid", START + 1, paid));
  }
  over.abort();
  expect(sources).toEqual(["direct", "stripe"]);
});

test("an install stays paid until the latest end of its purchases, and says when that changed", async () => {
  const { buyer, installId } = await installed("month");
  const sessions = [await checkout(buyer, installId), await checkout(buyer, installId)];
  const ends = [START + MONTH, START + 2 * MONTH];
  const invoices = [`in_${some()}`, `in_${some()}`];
  const present = () => read(buyer.token, `/api/installs/${installId}`);
  for (const [nth, session] of sessions.entries()) {
    const { updated_at: before } = await present();
    world.app.clock.advance(1_000);
    const subscription = `sub_${some()}`;
    const line = { period: { start: START, end: ends[nth] } };
    const paid = { id: invoices[nth], currency: "usd", amount_paid: 12_000, subscription, lines: { data: [line] } };
    await stripeEvent(world.app, ofStripe("checkout.session.completed", START, { id: session, subscription }));
    await stripeEvent(world.app, ofStripe("invoice.paid", START + 1, paid));
    const after = await present();
    expect(after.payment_source).toBe("stripe");
    expect(Date.parse(after.current_period_end)).toBe((ends[nth] ?? 0) * 1_000);
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before));
  }
  const refund = { id: `ch_${some()}`, invoice: invoices[0], amount_refunded: 1 };
  await stripeEvent(world.app, ofStripe("charge.refunded", START + 2, refund));
  expect(Date.parse((await present()).current_period_end)).toBe((ends[1] ?? 0) * 1_000);
});

test("who may not pay is refused before the body is read", async () => {
  const employee = await member(world.app, world.buyer);
  for (const body of [{}, { quote_id: "x" }]) {
    const answer = await world.app.call("POST", "/api/pricing/checkout-session", { token: employee.token, body });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
  }
});

test("an event is kept whatever characters its words have", async () => {
  const buyer = await founder(world.app);
  const { session } = await checkedOut(world, buyer.token, "stripe");
  const { completed, paid } = lifeAt(session);
  const odd = { ...paid, data: { object: { ...paid.data.object, description: "half \ud83d and \0" } } };
  for (const event of [completed, odd]) expect((await stripeEvent(world.app, event)).status).toBe(200);
  expect((await read(buyer.token, "/api/billing/history")).data).toMatchObject([
    { description: "half \ufffd and \ufffd" },
  ]);
});

test("an event whose time is no date returns 400, and one whose id PostgreSQL does not store is kept", async () => {
  for (const created of [1e18, Number.MAX_VALUE, -1e13])
    expect(await stripeEvent(world.app, ofStripe("customer.created", created, {}))).toMatchObject({
      status: 400,
      body: { code: "signature_invalid" },
    });
  const odd = { ...ofStripe("customer.created", START, {}), id: `evt_\0${some()}` };
  for (let nth = 0; nth < 2; nth++) expect((await stripeEvent(world.app, odd)).status).toBe(200);
});

test("quotes that nobody paid are deleted with their checkouts a month after their end", async () => {
  const buyer = await founder(world.app);
  const [left, paid] = [
    await checkedOut(world, buyer.token, "stripe"),
    await checkedOut(world, buyer.token, "stripe"),
  ] as const;
  const { completed, paid: invoice } = lifeAt(paid.session);
  for (const event of [completed, invoice]) await stripeEvent(world.app, event);
  const database = await openDatabase({
    url: world.app.databaseUrl,
    entities: [],
    migrations,
    clock: world.app.clock,
    log: silentLog,
  });
  const before = new Date(world.app.clock.now() + 3_600_000);
  const { count } = await database.transaction((tx) => deleteExpiredQuotes(tx, before));
  expect(count).toBeGreaterThan(0);
  await database.close();
  const kept = await runSql<{ id: string }>(
    world.app.databaseUrl,
    "select quote_id as id from quotes where quote_id = any ($1)",
    [[left.quoteId, paid.quoteId]],
  );
  expect(kept).toEqual([{ id: paid.quoteId }]);
});
