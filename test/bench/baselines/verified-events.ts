/** Events of Stripe without a service: each verified by Stripe's SDK, inserted, and applied by one update. */
import { randomUUID } from "node:crypto";
import Stripe from "stripe";
import { pool, serveTransactions } from "./transactions.ts";

const secret = "whsec_bench";
await pool.query(`
  create table if not exists bare_purchases (id integer primary key, status text not null, paid_at timestamptz);
  create table if not exists bare_events (
    event_id text primary key, type text not null, occurred_at timestamptz not null, received_at timestamptz not null,
    body text not null);
  insert into bare_purchases select n, 'open', null from generate_series(0, 9999) n on conflict do nothing`);
const body = process.env["BODY"] ?? "{}";
const timestamp = Math.floor(Date.now() / 1_000);
const header = Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
let next = 0;

serveTransactions(async (client) => {
  const event = Stripe.webhooks.constructEvent(body, header, secret, Number.MAX_SAFE_INTEGER);
  const now = new Date();
  await client.query({
    name: "event",
    text: "insert into bare_events values ($1, $2, $3, $4, $5) on conflict do nothing",
    values: [randomUUID(), event.type, new Date(event.created * 1_000), now, body],
  });
  await client.query({
    name: "purchase",
    text: "update bare_purchases set status = 'paid', paid_at = $2 where id = $1",
    values: [next++ % 10_000, now],
  });
});
