import { createHmac, randomBytes } from "node:crypto";
import Stripe from "stripe";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { startProviderServer } from "./provider-server.ts";
import type { ProviderServer } from "./provider-server.ts";

const SECRET = "whsec_test_secret";

/** A service with both providers, and a price of the plan `pro`. */
export interface BillingWorld {
  app: TestApp;
  provider: ProviderServer;
  admin: string;
  buyer: Somebody;
  priceId: number;
  close(): Promise<void>;
}

/** Starts the service with both providers. */
export async function billingWorld(): Promise<BillingWorld> {
  const provider = await startProviderServer();
  const app = await startApp({
    env: {
      SERVICE_OPEN_SIGNUP: "1",
      SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
      SERVICE_STRIPE_WEBHOOK_SECRET: SECRET,
      SERVICE_STRIPE_API_BASE: provider.url,
      SERVICE_PADDLE_API_KEY: "pdl_test_key",
      SERVICE_PADDLE_WEBHOOK_SECRET: SECRET,
      SERVICE_PADDLE_API_BASE: provider.url,
    },
  });
  const admin = await app.login();
  const made = await app.call("POST", "/api/admin/pricing/prices", {
    token: admin,
    body: {
      product: "Pro",
      plan: "pro",
      interval: "month",
      currency: "usd",
      unit_amount_cents: 1_000,
      tax_percent: 10,
    },
  });
  return {
    app,
    provider,
    admin,
    buyer: await founder(app),
    priceId: made.body.price_id as number,
    async close() {
      await app.close();
      await provider.close();
    },
  };
}

/** A quote of the price, and its checkout. */
export async function checkedOut(
  { app, priceId }: BillingWorld,
  token: string,
  provider: string,
): Promise<{ quoteId: string; session: string }> {
  const quote = await app.call("POST", "/api/pricing/quote", { token, body: { price_id: priceId } });
  const quoteId = quote.body.quote_id as string;
  const opened = await app.call("POST", "/api/pricing/checkout-session", {
    token,
    body: { quote_id: quoteId, provider },
  });
  if (opened.status !== 200) throw new Error(opened.text);
  return { quoteId, session: opened.body.id as string };
}

/** Sends an event as Stripe does; `header` replaces the signature. */
export async function stripeEvent(app: TestApp, event: object, header?: string): Promise<Answer> {
  const payload = JSON.stringify(event);
  const timestamp = Math.floor(app.clock.now() / 1000);
  const signed = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp });
  return send(app, "stripe", payload, { "stripe-signature": header ?? signed });
}

/** Sends an event as Paddle does; `change` alters the signature. */
export async function paddleEvent(app: TestApp, event: object, offsetSeconds = 0, extra = ""): Promise<Answer> {
  const payload = JSON.stringify(event);
  const time = Math.floor(app.clock.now() / 1000) + offsetSeconds;
  const h1 = createHmac("sha256", SECRET).update(`${time}:${payload}`).digest("hex");
  return send(app, "paddle", payload, { "paddle-signature": `ts=${time};${extra}h1=${h1}` });
}

async function send(app: TestApp, provider: string, payload: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${app.url}/api/billing/webhooks/${provider}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: payload,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === "" ? undefined : JSON.parse(text) };
}

/** An event of Stripe. */
export const ofStripe = (type: string, created: number, object: object) => ({
  id: `evt_${randomBytes(8).toString("hex")}`,
  object: "event",
  type,
  created,
  data: { object },
});
