import { randomUUID } from "node:crypto";
import Stripe from "stripe";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const SECRET = "whsec_reads";
const env = {
  SERVICE_RATE_LIMITS: "off",
  SERVICE_STRIPE_SECRET_KEY: "sk_test",
  SERVICE_STRIPE_WEBHOOK_SECRET: SECRET,
};

/** Makes quotes of one organization with the session of their checkout: `cs_<mark>_1` and so on. */
async function purchases(url: string, mark: string, count: number): Promise<void> {
  await runSql(
    url,
    `with price as (
       insert into prices (product, plan, unit_amount_cents, currency, interval, regions, created_at)
       values ('reads', 'enterprise', 1000, 'usd', 'once', '{}', now()) returning price_id),
     made as (
       insert into quotes (quote_id, org_uuid, price_id, seats, currency, region, unit_amount_cents, subtotal_cents,
         tax_cents, total_cents, issued_by, issued_at, expires_at)
       select gen_random_uuid(), o.uuid, price_id, 1, 'usd', 'default', 1000, 1000, 77, 1077, 'test', now(),
         now() + interval '15 minutes'
       from generate_series(1, $2) n, organizations o, price where o.name = 'Acme' returning quote_id)
     insert into provider_links select 'stripe', 'cs_' || $1 || '_' || row_number() over (), quote_id from made`,
    [mark, count],
  );
}

/** Rows and entries of indexes that statements on the tables of billing have read. */
async function reads(url: string): Promise<number> {
  const [{ sum } = { sum: 0 }] = await runSql<{ sum: number }>(
    url,
    `select sum(read)::int from (
       select seq_tup_read as read, relname from pg_stat_user_tables
       union all select idx_tup_read, relname from pg_stat_user_indexes) as counted
     where relname in ('provider_events', 'provider_links', 'payments', 'quotes', 'prices', 'subscriptions')`,
  );
  return sum;
}

/** Pays for purchases, one after the other. */
async function pay(app: TestApp, mark: string, from: number, to: number): Promise<void> {
  for (let nth = from; nth <= to; nth++) {
    const payload = JSON.stringify({
      id: `evt_${randomUUID()}`,
      object: "event",
      type: "checkout.session.completed",
      created: Math.floor(Date.now() / 1_000),
      data: {
        object: {
          id: `cs_${mark}_${nth}`,
          mode: "payment",
          payment_status: "paid",
          amount_total: 1_077,
          currency: "usd",
        },
      },
    });
    const headers = { "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET }) };
    const { status } = await app.call("POST", "/api/billing/webhooks/stripe", { body: payload, headers });
    expect(status).toBe(200);
  }
}

/** Runs a service of its own for some work; what it has read is counted when it has ended. */
async function readsOf(url: string, work: (app: TestApp) => Promise<void>): Promise<number> {
  const before = await reads(url);
  const app = await startApp({ clock: systemClock, env, databaseUrl: url });
  await work(app);
  await app.close();
  return (await reads(url)) - before;
}

/** Makes purchases that others have paid for, and events that belong to none; without being counted. */
async function others(url: string): Promise<void> {
  const uncounted = new URL(url);
  uncounted.searchParams.set("options", "-c track_counts=off");
  await purchases(uncounted.href, "more", 3_000);
  await runSql(
    uncounted.href,
    `with noise as (
       insert into provider_events (provider, event_id, type, occurred_at, received_at, ids, facts, body)
       select 'stripe', 'evt_' || gen_random_uuid(), 'customer.updated', now(), now(),
         array['cus_' || gen_random_uuid()], '[]', '{}' from generate_series(1, 3000)),
     paid as (
       update quotes set consumed_at = now() from provider_links l
       where l.quote_id = quotes.quote_id and l.external_id like 'cs_more_%' returning quotes.quote_id, org_uuid)
     insert into payments (org_uuid, provider, external_id, quote_id, first, amount, currency, status,
       refunded_amount, created_at)
     select org_uuid, 'stripe', 'pi_' || quote_id, quote_id, true, 1077, 'usd', 'paid', 0, now() from paid`,
  );
}

test("what a payment reads does not grow with the payments, purchases and unmatched events before it", async () => {
  const { url, close } = await testDatabase();
  try {
    // Nothing analyzes the tables: PostgreSQL knows as little of them as on a new installation.
    await runSql(url, "alter table provider_events set (autovacuum_enabled = false)");
    await startApp({ clock: systemClock, env, databaseUrl: url }).then((app) => app.close());
    await purchases(url, "first", 60);
    const few = await readsOf(url, (app) => pay(app, "first", 1, 20));
    const grown = await readsOf(url, async (app) => {
      // The plans that PostgreSQL keeps for the service are made here.
      await pay(app, "first", 21, 30);
      await others(url);
      await pay(app, "first", 31, 40);
    });

    expect(grown / 20).toBeLessThan(few / 20 + 40);
    const many = await readsOf(url, (app) => pay(app, "first", 41, 50));
    expect(many / 10).toBeLessThan(few / 20 + 40);
    const [{ plan } = { plan: "" }] = await runSql<{ plan: string }>(url, "select plan from organizations");
    expect(plan).toBe("enterprise");
  } finally {
    await close();
  }
});
