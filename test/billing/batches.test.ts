import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { billingWorld, checkedOut, lifeAt, ofStripe, some, START, stripeEvent } from "./support.ts";
import type { BillingWorld } from "./support.ts";

/** Webhooks that arrive at the same time. */
const COUNT = 24;

let world: BillingWorld;
beforeAll(async () => {
  world = await billingWorld({ env: { SERVICE_RATE_LIMITS: "off" } });
});
afterAll(() => world.close());

/** Checkouts of one organization that are completed and not paid yet, and the payments of them. */
async function unpaid(count: number) {
  const buyer = await founder(world.app);
  const payments: { quoteId: string; event: { id: string } }[] = [];
  for (let nth = 0; nth < count; nth++) {
    const { quoteId, session } = await checkedOut(world, buyer.token, "stripe");
    const life = lifeAt(session);
    await stripeEvent(world.app, life.completed);
    payments.push({ quoteId, event: life.paid });
  }
  const history = async () => {
    const answer = await world.app.call("GET", "/api/billing/history?limit=200", { token: buyer.token });
    return answer.body.data as { status: string; quote_id: string }[];
  };
  return { buyer, payments, history };
}

test("payments that arrive together are applied by fewer transactions, each once", async () => {
  const { buyer, payments, history } = await unpaid(COUNT);
  const twice = payments.concat(payments);
  const answers = await Promise.all(twice.map(({ event }) => stripeEvent(world.app, event)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await history()).map(({ quote_id }) => quote_id).sort()).toEqual(
    payments.map(({ quoteId }) => quoteId).sort(),
  );
  const { body } = await world.app.call("GET", `/api/organizations/${buyer.org}`, { token: buyer.token });
  expect(body.plan).toBe("pro");
  const [{ transactions } = { transactions: COUNT }] = await runSql<{ transactions: number }>(
    world.app.databaseUrl,
    "select count(distinct xmin::text)::int as transactions from provider_events where event_id = any ($1)",
    [payments.map(({ event }) => event.id)],
  );
  expect(transactions).toBeLessThan(COUNT / 2);
});

test("payments of two organizations that arrive together are announced to the webhooks of their own", async () => {
  const organizations = await Promise.all(
    [await unpaid(4), await unpaid(3)].map(async ({ buyer: { token }, payments }) => {
      const body = { url: "http://127.0.0.1:9/hook", events: ["invoice.paid"] };
      const { body: webhook } = await world.app.call("POST", "/api/v2/webhooks", { token, body });
      return { token, payments, path: `/api/v2/webhooks/${webhook.webhook_id as string}/deliveries` };
    }),
  );
  const sent = organizations.flatMap(({ payments }) => payments.map(({ event }) => stripeEvent(world.app, event)));
  expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([200]));
  const announced = organizations.map(async ({ token, path }) => {
    const { body } = await world.app.call("GET", path, { token });
    return (body.data as { event_type: string }[]).map(({ event_type: type }) => type);
  });
  expect(await Promise.all(announced)).toEqual([4, 3].map((count) => Array(count).fill("invoice.paid")));
});

test("payments do not wait for one that arrives with them and whose quote is locked", async () => {
  const { payments, history } = await unpaid(8);
  const locked = payments[3]?.quoteId ?? "";
  const other = new pg.Client(world.app.databaseUrl);
  await other.connect();
  try {
    await other.query("begin");
    await other.query("select 1 from quotes where quote_id = $1 for update", [locked]);
    const sent = payments.map(({ quoteId, event }) => ({ quoteId, answer: stripeEvent(world.app, event) }));
    const answers = await Promise.all(sent.filter(({ quoteId }) => quoteId !== locked).map(({ answer }) => answer));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const paid = (await history()).map(({ quote_id }) => quote_id);
    expect(paid).toHaveLength(7);
    expect(paid).not.toContain(locked);
    await other.query("rollback");
    expect((await sent[3]?.answer)?.status).toBe(200);
    expect(await history()).toHaveLength(8);
  } finally {
    await other.end();
  }
});

test("payments do not fail for an event that arrives with them and cannot be stored", async () => {
  const { payments, history } = await unpaid(4);
  const bad = {
    ...ofStripe("invoice.paid", START, { id: `in_${some()}`, amount_paid: 5, currency: "usd" }),
    // PostgreSQL takes no key as long as this.
    id: `evt_${randomBytes(8_000).toString("base64url")}`,
  };
  const [refused, ...answers] = await Promise.all(
    [bad, ...payments.map(({ event }) => event)].map((event) => stripeEvent(world.app, event)),
  );
  expect(refused).toMatchObject({ status: 400, body: { code: "bad_request" } });
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await history()).toHaveLength(4);
});
