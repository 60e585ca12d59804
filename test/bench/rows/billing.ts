import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Stripe from "stripe";
import { callRest } from "../../support/app.ts";
import { runSql } from "../../support/postgres.ts";
import type { Environment } from "../environment.ts";
import { organizationOf } from "../seeded-people.ts";
import type { Service } from "../service.ts";
import { p50Side } from "./latency.ts";
import { meOverRest } from "./me.ts";
import type { RatioRow, Sample, Side } from "./row.ts";

/** Connections of the service for transactions, and what the bare sides get too. */
const CONNECTIONS = "10";
const BATCH = 1_000;
const SECRET = "whsec_bench";
const json = { "content-type": "application/json" };

async function post(service: Service, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await callRest(`http://127.0.0.1:${service.port}`, "POST", path, { token: service.tokens[0], body });
  if (answer.status >= 300) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`);
  return answer.body as Record<string, unknown>;
}

const newPrice = async (service: Service, interval: string): Promise<number> =>
  (
    await post(service, "/api/admin/pricing/prices", {
      product: "Bench",
      plan: "pro",
      interval,
      currency: "usd",
      unit_amount_cents: 1_000,
      tax_percent: 7.7,
    })
  )["price_id"] as number;

/** The same POST of every session. */
function posts(environment: Environment, service: Service, path: string, body: object, connections: number): Side {
  const file = environment.requests(
    service.tokens.map((token) => ({
      method: "POST",
      path,
      headers: { authorization: `Bearer ${token}`, ...json },
      body: JSON.stringify(body),
    })),
  );
  const job = { protocol: "http1", port: service.port, connections, file } as const;
  return { name: `Atrium, ${path}`, measure: (seconds) => environment.load({ ...job, seconds }, service.pid) };
}

async function bare(environment: Environment, script: string, env: Record<string, string> = {}): Promise<Side> {
  const DATABASE = await environment.baselineDatabase();
  const helper = await environment.server<object>(`baselines/${script}`, { DATABASE, CONNECTIONS, ...env });
  return { name: "bare loop", measure: (seconds) => helper.ask<Sample>({ seconds }) };
}

const previews: RatioRow = {
  kind: "ratio",
  name: "price-preview",
  title: "price previews over REST, against GET /api/auth/me over REST",
  unit: "req/s",
  target: 0.6,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const body = { price_id: await newPrice(service, "month"), seats: 3, region: "CH" };
    return [posts(environment, service, "/api/pricing/preview", body, 192), await meOverRest(environment)];
  },
};

const quotes: RatioRow = {
  kind: "ratio",
  name: "quote",
  title: "quotes over REST, against a bare loop of one insert and one jose signature",
  unit: "1/s",
  target: 0.6,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const body = { price_id: await newPrice(service, "month"), seats: 3 };
    return [posts(environment, service, "/api/pricing/quote", body, 32), await bare(environment, "signed-quotes.ts")];
  },
};

/** An event by which Stripe says that the checkout of this session is paid. */
const paidEvent = (session: string): string =>
  JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: "event",
    type: "checkout.session.completed",
    created: Math.floor(Date.now() / 1_000),
    data: {
      object: { id: session, mode: "payment", payment_status: "paid", amount_total: 1_077, currency: "usd" },
    },
  });

/** Makes quotes with the session of their checkout; returns the sessions. */
async function purchases(service: Service, priceId: number, count: number): Promise<string[]> {
  const mark = randomUUID();
  await runSql(
    service.databaseUrl,
    `with made as (
       insert into quotes (quote_id, org_uuid, price_id, seats, currency, region, unit_amount_cents, subtotal_cents,
         tax_cents, total_cents, issued_by, issued_at, expires_at)
       select gen_random_uuid(), ($1::uuid[])[n % cardinality($1::uuid[]) + 1], $2, 1, 'usd', 'default', 1000, 1000, 77,
         1077, 'bench', now(), now() + interval '15 minutes' from generate_series(0, $3 - 1) n
       returning quote_id)
     insert into provider_links select 'stripe', 'cs_' || $4 || row_number() over (), quote_id from made`,
    [service.people.map((_, nth) => organizationOf(service, nth)), priceId, count, mark],
  );
  return Array.from({ length: count }, (_, nth) => `cs_${mark}${nth + 1}`);
}

const events: RatioRow = {
  kind: "ratio",
  name: "provider-event",
  title: "webhooks of a payment, verified to applied, against a bare verified insert and one update",
  unit: "1/s",
  target: 0.45,
  at: "least",
  async sides(environment) {
    const service = await environment.keptService("bench_billing", {
      env: { SERVICE_STRIPE_SECRET_KEY: "sk_bench", SERVICE_STRIPE_WEBHOOK_SECRET: SECRET },
    });
    const priceId = await newPrice(service, "once");
    return [
      {
        name: "Atrium, webhooks",
        async measure(seconds) {
          const timestamp = Math.floor(Date.now() / 1_000);
          const specs = (await purchases(service, priceId, Math.ceil(seconds * 6_000))).map((session) => {
            const payload = paidEvent(session);
            const header = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp });
            const headers = { "stripe-signature": header, ...json };
            return { method: "POST", path: "/api/billing/webhooks/stripe", headers, body: payload };
          });
          const file = environment.requests(specs);
          const job = { protocol: "http1", port: service.port, connections: 32, file, once: true, seconds } as const;
          return environment.load(job, service.pid);
        },
      },
      await bare(environment, "verified-events.ts", { BODY: paidEvent("cs_bench") }),
    ];
  },
};

async function newMeter(service: Service): Promise<{ id: string; eventName: string }> {
  const eventName = `bench-${randomUUID()}`;
  const body = { name: "Bench", unit: "call", event_name: eventName };
  return { id: (await post(service, "/api/billing/metering/meters", body))["id"] as string, eventName };
}

const metering: RatioRow = {
  kind: "ratio",
  name: "meter-events",
  title: "meter events a second in batches of 1,000, against one insert on conflict do nothing of the same rows",
  unit: "1/s",
  target: 0.6,
  at: "least",
  async sides(environment) {
    const service = await environment.service();
    const { eventName } = await newMeter(service);
    const inserts = await bare(environment, "bare-meter-events.ts");
    const times = (side: Sample): Sample => ({ ...side, value: side.value * BATCH });
    return [
      {
        name: "Atrium, batches",
        async measure(seconds) {
          const file = environment.requests(
            Array.from({ length: Math.ceil(seconds * 150) }, () => {
              const mark = randomUUID();
              const all = Array.from({ length: BATCH }, (_, nth) => ({ id: `${mark}-${nth}`, event_name: eventName }));
              return {
                method: "POST",
                path: "/api/billing/metering/events",
                headers: { authorization: `Bearer ${service.tokens[0]}`, ...json },
                body: JSON.stringify({ events: all }),
              };
            }),
          );
          const job = { protocol: "http1", port: service.port, connections: 10, file, once: true, seconds } as const;
          return times(await environment.load({ ...job, status: 202 }, service.pid));
        },
      },
      { ...inserts, measure: async (seconds) => times(await inserts.measure(seconds)) },
    ];
  },
};

/** A meter with this many events, spread over the last 90 days. */
async function filledMeter(environment: Environment, service: Service, count: number): Promise<string> {
  const { id } = await newMeter(service);
  environment.log(`  ${count.toLocaleString("en")} events of a meter`);
  await runSql(
    service.databaseUrl,
    `insert into metered_events (org_uuid, id, meter_id, value, happened_at, received_at, period)
     select $1, $2::text || n, $2::uuid, 1, now() - n * interval '90 days' / $3::float8, now(), 1
     from generate_series(1, $3::int) n`,
    [organizationOf(service, 0), id, count],
  );
  for (const [table, bucket] of [
    ["meter_hours", "hour"],
    ["meter_days", "day"],
  ] as const)
    await runSql(
      service.databaseUrl,
      `insert into ${table} (meter_id, start, sum, count, max)
       select meter_id, date_trunc('${bucket}', happened_at, 'UTC'), sum(value), count(*), max(value)
       from metered_events where meter_id = $1 group by 1, 2`,
      [id],
    );
  await runSql(service.databaseUrl, "analyze metered_events, meter_hours, meter_days");
  return id;
}

const usage: RatioRow = {
  kind: "ratio",
  name: "meter-usage",
  title: "usage by day of 60 days: p50 at 10 million events, against 10 thousand",
  unit: "ms",
  target: 1.5,
  at: "most",
  async sides(environment) {
    const service = await environment.service();
    const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const query = `from=${day(61)}&to=${day(1)}&group=day`;
    const large = await filledMeter(environment, service, Number(process.env["BENCH_METER_EVENTS"] ?? 10_000_000));
    const small = await filledMeter(environment, service, 10_000);
    const side = (name: string, id: string): Side =>
      p50Side(environment, name, service, `/api/billing/metering/meters/${id}/usage?${query}`, [
        service.tokens[0] ?? "",
      ]);
    return [side("10 million events", large), side("10 thousand events", small)];
  },
};

const renders: RatioRow = {
  kind: "ratio",
  name: "render",
  title: "renders of a 64 KiB template with 200 placeholders, against mustache with a cached template",
  unit: "1/s",
  target: 1,
  at: "least",
  async sides(environment) {
    const folder = environment.folder("render");
    mkdirSync(folder, { recursive: true });
    const TEMPLATE = join(folder, "template.html");
    const line = (nth: number): string => `<p title="{{title_${nth}}}">${"text ".repeat(56)}{{value_${nth}}}</p>\n`;
    const body = Array.from({ length: 100 }, (_, nth) => line(nth)).join("");
    writeFileSync(TEMPLATE, body.padEnd(65_536, "<p>the rest of the template</p>\n"));
    const side = async (name: string, ENGINE: string): Promise<Side> => {
      const helper = await environment.server<object>("baselines/renders.ts", { TEMPLATE, ENGINE });
      return { name, measure: (seconds) => helper.ask<Sample>({ seconds }) };
    };
    return [await side("Atrium", "atrium"), await side("mustache", "mustache")];
  },
};

/** Money, meters and documents. */
export const billingRows = [previews, quotes, events, metering, usage, renders] as const;
