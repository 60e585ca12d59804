import { call, some, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";

/** What the routes of billing, templates and the AI gateway need to succeed. */
export const contentWrites: Readonly<Record<string, (stage: Stage) => Promise<Write> | Write>> = {
  "POST /api/admin/pricing/prices": () => ({ body: price }),
  "DELETE /api/admin/pricing/prices/{price_id}": async (stage) => ({ ids: { price_id: await priceId(stage) } }),
  "PUT /api/admin/plans/{plan}": () => ({ ids: { plan: "late" }, body: { name: some(), features: [] } }),
  "POST /api/pricing/quote": async (stage) => ({ body: { price_id: Number(await priceId(stage)) } }),
  "POST /api/pricing/checkout-session": async (stage) => ({ body: { quote_id: await quoteId(stage) } }),
  "POST /api/billing/portal-session": async (stage) => {
    await subscription(stage);
    return { body: { provider: "stripe" } };
  },
  "POST /api/operator/billing/reconcile": () => ({ body: { provider: "stripe" } }),
  "POST /api/billing/cards": () => ({ body: cardBody() }),
  "PUT /api/billing/cards/default": async (stage) => ({ body: { card_id: await card(stage) } }),
  "DELETE /api/billing/cards/{card_id}": async (stage) => ({ ids: { card_id: await card(stage) } }),
  "DELETE /api/billing/subscriptions/{id}": async (stage) => ({ ids: { subscription: await subscription(stage) } }),
  "POST /api/billing/metering/meters": () => ({ body: { name: "late", event_name: some(), unit: "call" } }),
  "POST /api/billing/metering/events": async (stage) => {
    const event_name = some();
    await call(stage, "POST", "/api/billing/metering/meters", { name: "late", event_name, unit: "call" });
    return { body: { id: some(), event_name } };
  },
  "POST /api/ops/custom-variables": () => ({ body: { key: `late_${some()}`, value: "x" } }),
  "PUT /api/ops/custom-variables/{id}": async (stage) => ({
    ids: { variable: await variable(stage) },
    body: { value: some() },
  }),
  "DELETE /api/ops/custom-variables/{id}": async (stage) => ({ ids: { variable: await variable(stage) } }),
  "POST /api/templates": () => ({ body: { name: "late", category: "email", body: "<p>{{name}}</p>" } }),
  "PATCH /api/templates/{id}": async (stage) => ({
    ids: { template: await template(stage) },
    body: { name: some() },
  }),
  "DELETE /api/templates/{id}": async (stage) => ({ ids: { template: await template(stage) } }),
  "PUT /api/ops/ai-gateway-config": () => ({ body: { provider: "openai", budget_usd: 1.5 } }),
  "PUT /api/ops/ai-routing-config": () => ({ body: { slm: some(), llm: "large", auto_escalate: true } }),
  "POST /api/ops/mcp-servers": () => ({ body: { name: some(), install_command: "npx server" } }),
  "DELETE /api/ops/mcp-servers/{id}": async (stage) => ({ ids: { mcp_server: await mcpServer(stage) } }),
};

const price = { product: "late", interval: "month", currency: "usd", unit_amount_cents: 100 };

async function priceId(stage: Stage): Promise<string> {
  return String((await call(stage, "POST", "/api/admin/pricing/prices", price, await stage.app.login()))["price_id"]);
}

async function quoteId(stage: Stage): Promise<string> {
  const body = { price_id: Number(await priceId(stage)) };
  return (await call(stage, "POST", "/api/pricing/quote", body))["quote_id"] ?? "";
}

const cardBody = () => ({ provider: "stripe", payment_method_token: `pm_${some()}` });

async function card(stage: Stage): Promise<string> {
  return (await call(stage, "POST", "/api/billing/cards", cardBody(), stage.actor.token))["id"] ?? "";
}

/** Buys a subscription at the payment server, which sends no webhooks here, and stores what these would have said. */
async function subscription(stage: Stage): Promise<string> {
  const checkout = await call(stage, "POST", "/api/pricing/checkout-session", { quote_id: await quoteId(stage) });
  const page = checkout["url"] ?? "";
  await fetch(page, { method: "POST", body: new URLSearchParams({ act: "pay" }), redirect: "manual" });
  const events = new URL("/v1/events?limit=1&types[0]=customer.subscription.created", page);
  const listed = await fetch(events, { headers: { authorization: "Bearer sk_test_key" } });
  const [event] = ((await listed.json()) as { data: { data: { object: { id: string; customer: string } } }[] }).data;
  const { id = "", customer = "" } = event?.data.object ?? {};
  const org = stage.side.owner.org;
  await sql(
    stage,
    `insert into billing_customers (provider, org_uuid, customer_id, seen_at) values ('stripe', $1, $2, now())
     on conflict (provider, org_uuid) do update set customer_id = excluded.customer_id`,
    org,
    customer,
  );
  const [row] = await sql(
    stage,
    `insert into subscriptions
       (subscription_id, org_uuid, quote_id, provider, external_id, seats, status, cancel_at_period_end, created_at)
     values (gen_random_uuid(), $1, $2::uuid, 'stripe', $3, 1, 'active', false, now())
     returning subscription_id`,
    org,
    checkout["quote_id"],
    id,
  );
  return row?.["subscription_id"] ?? "";
}

async function variable(stage: Stage): Promise<string> {
  const body = { key: `v_${some()}`, value: "x" };
  const { data } = (await call(stage, "POST", "/api/ops/custom-variables", body)) as unknown as {
    data: { id: number };
  };
  return String(data.id);
}

async function template(stage: Stage): Promise<string> {
  return (await call(stage, "POST", "/api/templates", { name: "late", category: "email" }))["id"] ?? "";
}

async function mcpServer(stage: Stage): Promise<string> {
  return (await call(stage, "POST", "/api/ops/mcp-servers", { name: some(), install_command: "x" }))["id"] ?? "";
}
