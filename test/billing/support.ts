import { createHmac, randomBytes } from "node:crypto";
import Stripe from "stripe";
import { startApp } from "../support/app.ts";
import type { Answer, AppOptions, TestApp } from "../support/app.ts";
import { founder, mailsTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import type { PaymentServer } from "../../src/app/dev/payments/server.ts";
import type { ApiCall } from "../../src/app/dev/payments/stripe-api.ts";

const SECRET = "whsec_test_secret";

/** A service with both providers, and a price of the plan `pro`. */
export interface BillingWorld {
  app: TestApp;
  provider: PaymentServer;
  admin: string;
  buyer: Somebody;
  priceId: number;
  close(): Promise<void>;
}

/** Starts the service with both providers. */
export async function billingWorld(options: AppOptions = {}): Promise<BillingWorld> {
  let app: TestApp | undefined = undefined;
  const provider = await startPaymentServer({
    webhookSecret: SECRET,
    service: () => app?.url,
    now: () => (options.clock ?? app?.clock)?.now() ?? Date.now(),
  });
  app = await startApp({
    ...options,
    env: {
      ...options.env,
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

/** Somebody with an organization and a confirmed address. Paddle makes no customer for others; needs no worker. */
export async function confirmed(app: TestApp): Promise<Somebody> {
  const buyer = await founder(app);
  const [mail] = await mailsTo(app, buyer.email);
  const token = /\/confirm-email#token=([\w-]+)/u.exec(mail?.text ?? "")?.[1];
  const { status } = await app.call("POST", "/api/auth/email/confirm", { body: { token } });
  if (status !== 204) throw new Error(`the confirmation answered ${status}`);
  return buyer;
}

/** What a call of a provider's API sent: fields of a form, or JSON. */
export function bodyOf(call: ApiCall | undefined): Record<string, unknown> {
  if (call?.contentType.startsWith("application/json") === true)
    return JSON.parse(call.text) as Record<string, unknown>;
  return Object.fromEntries(new URLSearchParams(call?.text));
}

/** Does what a person does on a page of the payment server. */
export async function act(page: string, what: string): Promise<string | null> {
  const body = new URLSearchParams({ act: what });
  const { headers, status } = await fetch(page, { method: "POST", body, redirect: "manual" });
  if (status !== 303 && status !== 200) throw new Error(`${what} answered ${status}`);
  return headers.get("location");
}

/** Repeats a call while a busy machine lets the service answer 503. */
async function patiently(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await call();
    if (answer.status !== 503) return answer;
  }
}

/** A quote of the price, and its checkout. */
export async function checkedOut(
  { app, priceId }: BillingWorld,
  token: string,
  provider: string,
): Promise<{ quoteId: string; session: string; url: string }> {
  const post = (path: string, body: object) => patiently(() => app.call("POST", path, { token, body }));
  const quote = await post("/api/pricing/quote", { price_id: priceId });
  const quoteId = quote.body.quote_id as string;
  const opened = await post("/api/pricing/checkout-session", { quote_id: quoteId, provider });
  if (opened.status !== 200) throw new Error(opened.text);
  return { quoteId, session: opened.body.id as string, url: opened.body.url as string };
}

/** Sends an event as Stripe does; `header` replaces the signature. */
export async function stripeEvent(app: TestApp, event: object, header?: string, offsetSeconds = 0): Promise<Answer> {
  const payload = JSON.stringify(event);
  const timestamp = Math.floor(app.clock.now() / 1000) + offsetSeconds;
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

function send(app: TestApp, provider: string, payload: string, headers: Record<string, string>): Promise<Answer> {
  return patiently(() => app.call("POST", `/api/billing/webhooks/${provider}`, { headers, body: payload }));
}

/** An event of Stripe. */
export const ofStripe = (type: string, created: number, object: object) => ({
  id: `evt_${randomBytes(8).toString("hex")}`,
  object: "event",
  type,
  created,
  data: { object },
});

/** Time of the first event of a life, seconds since the epoch. */
export const START = 1_760_000_000;

/** An event of Paddle, some seconds after `START`. */
export const ofPaddle = (event_type: string, second: number, data: object) => ({
  event_id: `evt_${some()}`,
  event_type,
  occurred_at: new Date((START + second) * 1_000).toISOString(),
  data,
});

/** Part of an id. */
export const some = (): string => randomBytes(6).toString("hex");

/** The events of a subscription at Stripe, from its first payment to its end, which begin at a time. */
export function lifeAt(session: string, start = START) {
  const [subscription, first, second] = [`sub_${some()}`, `in_${some()}`, `in_${some()}`];
  const invoice = (id: string, from: number, paid: boolean) => ({
    id,
    currency: "usd",
    amount_paid: paid ? 1_100 : 0,
    amount_due: 1_100,
    hosted_invoice_url: `https://invoice.test/${id}`,
    parent: { subscription_details: { subscription } },
    lines: { data: [{ period: { start: from, end: from + 2_592_000 } }] },
  });
  const state = (status: string, ends = false) => ({ id: subscription, status, cancel_at_period_end: ends });
  return {
    completed: ofStripe("checkout.session.completed", start, {
      id: session,
      mode: "subscription",
      payment_status: "paid",
      amount_total: 1_100,
      currency: "usd",
      subscription,
    }),
    created: ofStripe("customer.subscription.created", start + 1, state("active")),
    paid: ofStripe("invoice.paid", start + 2, invoice(first, start, true)),
    failed: ofStripe("invoice.payment_failed", start + 2_592_000, invoice(second, start + 2_592_000, false)),
    pastDue: ofStripe("customer.subscription.updated", start + 2_592_001, state("past_due")),
    renewed: ofStripe("invoice.paid", start + 2_592_100, invoice(second, start + 2_592_000, true)),
    ending: ofStripe("customer.subscription.updated", start + 2_600_000, state("active", true)),
    ended: ofStripe("customer.subscription.deleted", start + 5_184_000, state("canceled")),
  };
}
