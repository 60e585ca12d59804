import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import { signatureOf } from "../../src/app/dev/payments/deliver.ts";
import { readStripeFacts } from "../../src/domains/billing/providers/stripe-facts.ts";
import { lifeAt } from "../billing/support.ts";
import { callRest } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { must } from "./marketplace-client.ts";
import { within } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";

const SECRET = "whsec_faults";
/** How long kept events may wait for their application after a restart: ten times the interval of the poller. */
const APPLIED_MS = 100_000;
/** Within which time an event whose effect waits is kept: the time limits of a statement, twice. */
const KEPT_MS = 20_000;

/**
 * An instance is killed while it applies each event of a subscription: in turn before the event is kept, and when it
 * has kept the event because the effect took too long. Nothing is lost: what was kept is applied after the restart, and
 * what the provider sends again counts once.
 */
export const killedInbox: Scenario = async (log) => {
  const provider = await startPaymentServer({ webhookSecret: SECRET });
  const servers = await startServers(["all"], {
    SERVICE_STRIPE_SECRET_KEY: "sk_test_faults",
    SERVICE_STRIPE_WEBHOOK_SECRET: SECRET,
    SERVICE_STRIPE_API_BASE: provider.url,
    SERVICE_CONSOLE: "off",
  });
  const between = new pg.Client(servers.databaseUrl);
  try {
    await between.connect();
    const base = servers.urls[0] ?? "";
    const login = { email: owner.email, password: owner.password, org_name: owner.org };
    const { access_token: token } = must(await callRest(base, "POST", "/api/auth/login", { body: login }));
    const post = async (path: string, body: object) => must(await callRest(base, "POST", path, { token, body }));
    const read = async (path: string) =>
      must(await callRest(base, "GET", path, { token })).data as { status: string }[];
    const price = { product: "Pro", plan: "pro", interval: "month", currency: "usd", unit_amount_cents: 1_100 };
    const { price_id: priceId } = await post("/api/admin/pricing/prices", price);
    const { quote_id: quoteId } = await post("/api/pricing/quote", { price_id: priceId });
    const session = await post("/api/pricing/checkout-session", { quote_id: quoteId, provider: "stripe" });
    const life = lifeAt(session.id as string);
    const send = (event: object): Promise<number> => {
      const body = JSON.stringify(event);
      const headers = {
        "content-type": "application/json",
        ...signatureOf("stripe", body, SECRET, Math.floor(Date.now() / 1_000)),
      };
      return callRest(base, "POST", "/api/billing/webhooks/stripe", { body, headers }).then(({ status }) => status);
    };
    const count = async (condition: string): Promise<number> => {
      const sql = `select count(*)::int as n from provider_events where ${condition}`;
      return (await runSql<{ n: number }>(servers.databaseUrl, sql))[0]?.n ?? 0;
    };

    const wrong: string[] = [];
    const events = [life.completed, life.created, life.paid, life.failed, life.pastDue, life.renewed];
    let slowest = 0;
    for (const [nth, event] of events.entries()) {
      // Who applies an event locks its ids first, and cannot go on. Events that wait too long are kept without effect.
      const [id] = readStripeFacts(event.type, event.data.object).ids;
      await between.query("select pg_advisory_lock(hashtextextended('billing-event/stripe/' || $1, 0))", [id]);
      const answer = send(event).catch(() => "no answer");
      const isKept = nth % 2 === 1;
      if (isKept && !(await within(KEPT_MS, async () => (await count("true")) > nth)))
        wrong.push(`event ${nth} was not kept although its effect took too long`);
      if (!isKept) await sleep(1_000);
      if ((await count("quote_id is null")) !== (isKept ? 1 : 0))
        wrong.push(`event ${nth} was applied before the kill`);
      if (isKept) await answer;
      const killed = servers.kill("all");
      const got = await answer;
      if (got !== (isKept ? 200 : "no answer")) wrong.push(`event ${nth} was answered ${got}`);
      await between.query("select pg_advisory_unlock_all()");
      await killed;
      const since = Date.now();
      if (!(await within(APPLIED_MS, async () => (await count("quote_id is null")) === 0)))
        wrong.push(`event ${nth} was not applied after the restart`);
      slowest = Math.max(slowest, Date.now() - since);
      // A provider sends again what had no answer, and may send again what had one.
      const again = await send(event);
      if (again !== 200) wrong.push(`event ${nth} sent again was answered ${again}`);
    }
    const payments = (await read("/api/billing/history")).map(({ status }) => status);
    const subscriptions = (await read("/api/billing/subscriptions")).map(({ status }) => status);
    log(`${events.length} kills between receipt and effect; applied at most ${slowest} ms after the restart`);
    log(`payments: ${payments.join(", ")}; subscriptions: ${subscriptions.join(", ")}`);
    if (payments.join() !== "paid,paid") wrong.push("the history has not the two payments");
    if (subscriptions.join() !== "active") wrong.push("the subscription is not active");
    if ((await count("true")) !== events.length) wrong.push("an event was stored twice");
    return wrong;
  } finally {
    await between.end();
    await servers.close();
    await provider.close();
  }
};
