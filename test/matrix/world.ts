import { randomBytes, randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { startPaymentServer } from "../../src/app/dev/payments/server.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { elevated, founder, invite, member, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

/** An organization with one object of each kind that has an id. */
export interface Side {
  owner: Somebody;
  /** The owner's token of a login on `ids.device_uuid`, valid for 15 minutes, and the elevated one of its session. */
  token: string;
  elevated: string;
  /** Ids by kind of object. */
  ids: Ids;
}

/** Ids of an organization, by the name of the path parameter or, where that is ambiguous, by a name of our own. */
export type Ids = Readonly<Record<string, string>>;

/** The body of a response that must be a success. */
export function done(answer: Answer): Record<string, string> {
  if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  return (answer.body ?? {}) as Record<string, string>;
}

/** A service with open sign-up and a payment provider; by default with a clock that the test advances. */
export async function startMatrixApp(clock?: Clock): Promise<TestApp> {
  const webhookSecret = "whsec_test_secret";
  let app: TestApp | undefined = undefined;
  const now = (): number => app?.clock.now() ?? Date.now();
  const provider = await startPaymentServer({ webhookSecret, now });
  app = await startApp({
    ...(clock && { clock }),
    env: {
      SERVICE_OPEN_SIGNUP: "1",
      SERVICE_STRIPE_SECRET_KEY: "sk_test_key",
      SERVICE_STRIPE_WEBHOOK_SECRET: webhookSecret,
      SERVICE_STRIPE_API_BASE: provider.url,
    },
  });
  const started = app;
  const close = async (): Promise<void> => {
    await started.close();
    await provider.close();
  };
  return { ...started, close };
}

/** A login by password; the token is valid for 15 minutes. */
export async function signIn(
  app: TestApp,
  who: Pick<Somebody, "email" | "orgName">,
  device: string = randomUUID(),
): Promise<{ token: string; refresh: string; sid: string }> {
  const body = done(
    await app.call("POST", "/api/auth/login", {
      body: { email: who.email, password, org_name: who.orgName },
      headers: { "x-device-uuid": device },
    }),
  );
  const token = body["access_token"] ?? "";
  return { token, refresh: body["refresh_token"] ?? "", sid: String(decodeJwt(token)["sid"]) };
}

/** An API key of an organization. */
export async function apiKey(
  app: TestApp,
  by: Pick<Somebody, "token" | "org">,
  scopes: readonly string[],
  days = 30,
): Promise<{ id: string; key: string }> {
  const body = done(
    await app.call("POST", `/api/admin/organizations/${by.org}/api-keys`, {
      token: by.token,
      body: { name: "matrix", scopes, expires_in_days: days },
    }),
  );
  return { id: body["key_id"] ?? "", key: body["api_key"] ?? "" };
}

/** An automation token of a new service identity with a role, by default admin. */
export async function automationToken(
  app: TestApp,
  by: Pick<Somebody, "token" | "org">,
  roleId = 1,
): Promise<{ id: string; identityId: string; token: string }> {
  const identities = `/api/organizations/${by.org}/service-identities`;
  const post = async (path: string, body: unknown) => done(await app.call("POST", path, { token: by.token, body }));
  const { identity_id: identityId = "" } = await post(identities, {
    name: `identity ${randomBytes(4).toString("hex")}`,
    role_id: roleId,
  });
  const wish = { name: "matrix", identity_id: identityId, expires_in: 30 * 86_400 };
  const { token_id: id = "", token = "" } = await post(`${identities}/automation-token`, wish);
  return { id, identityId, token };
}

/** A token of a person without an organization, by magic link. */
export async function orglessToken(app: TestApp): Promise<string> {
  const email = `stray${randomBytes(4).toString("hex")}@people.test`;
  done(await app.call("POST", "/api/auth/magic-link/send", { body: { email } }));
  return (
    done(await app.call("POST", "/api/auth/magic-link/verify", { body: { token: await tokenTo(app, email) } }))[
      "access_token"
    ] ?? ""
  );
}

/** The owner of Acme: platform admin, operator and superuser. */
export async function platformAdmin(app: TestApp): Promise<{ token: string; elevated: string; org: string }> {
  const token = await app.login();
  const challenge = done(
    await app.call("POST", "/api/auth/step-up/challenge", { token, body: { method: "password" } }),
  );
  const verified = done(
    await app.call("POST", "/api/auth/step-up/verify", {
      token,
      body: { challenge_id: challenge["challenge_id"], password: app.owner.password },
    }),
  );
  return { token, elevated: verified["elevated_token"] ?? "", org: String(decodeJwt(token)["org"]) };
}

/** A published app of an organization; approved when the platform admin's token is given. */
export async function publishApp(
  app: TestApp,
  token: string,
  approvedBy?: string,
): Promise<{ appId: string; slug: string }> {
  const slug = `app-${randomBytes(6).toString("hex")}`;
  const { app_id: appId = "" } = done(
    await app.call("POST", "/api/marketplace/apps", { token, body: draftOf(slug, "http://127.0.0.1:9/provision") }),
  );
  if (approvedBy !== undefined)
    done(await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: approvedBy }));
  return { appId, slug };
}

/** A quote, a card and a subscription of an organization. */
async function buy(
  app: TestApp,
  org: string,
  call: (method: string, path: string, body?: unknown) => Promise<Record<string, string>>,
): Promise<Ids> {
  const price = { product: "seats", interval: "month", currency: "usd", unit_amount_cents: 100 };
  const made = await app.call("POST", "/api/admin/pricing/prices", { token: await app.login(), body: price });
  const quote = (await call("POST", "/api/pricing/quote", { price_id: made.body.price_id }))["quote_id"] ?? "";
  const token = `pm_${randomBytes(6).toString("hex")}`;
  const card = await call("POST", "/api/billing/cards", { provider: "stripe", payment_method_token: token });
  const inserted = `insert into subscriptions
       (subscription_id, org_uuid, quote_id, provider, external_id, seats, status, cancel_at_period_end, created_at)
     values
       (gen_random_uuid(), $1, $2::uuid, 'stripe', 'sub_' || ($2::uuid)::text, 1, 'active', false, now())
     returning subscription_id`;
  const [row] = await runSql<{ subscription_id: string }>(app.databaseUrl, inserted, [org, quote]);
  return { quote, card_id: card["id"] ?? "", subscription: row?.subscription_id ?? "" };
}
/** A connection to an identity provider that nobody signs in by. */
export const connectionDraft = () => ({
  name: "Corporate",
  provider: "okta",
  client_id: "atrium",
  client_secret: "a secret",
  discovery_url: "https://idp.example.test/.well-known/openid-configuration",
  allowed_domains: ["corp.test"],
  redirect_uris: [],
});

/** An organization with one object of each kind; it installs `shop`, a published app of another organization. */
export async function populate(app: TestApp, shop: string): Promise<Side> {
  const device = randomUUID();
  const first = await founder(app);
  const { token, sid } = await signIn(app, first, device);
  const owner = { ...first, token };
  const other = await member(app, owner);
  const call = async (method: string, path: string, body?: unknown) =>
    done(await app.call(method, path, { token, ...(body === undefined ? {} : { body }) }));
  const admin = `/api/admin/organizations/${owner.org}`;

  const key = await apiKey(app, owner, ["read:users"]);
  const scim = await call("POST", `${admin}/scim-tokens`, { name: "idp" });
  const signing = await call("POST", `${admin}/signing-keys`, { algorithm: "ed25519" });
  const { appId, slug } = await publishApp(app, token);
  const install = await call("POST", `/api/marketplace/${shop}/install`, {});
  const webhook = await call("POST", "/api/v2/webhooks", { url: "https://hooks.example.test/in", events: ["*"] });
  const delivery = await call("POST", `/api/v2/webhooks/${webhook["webhook_id"]}/test`);
  const role = (await call("POST", "/api/v2/products/p1/roles", {
    name: `role ${randomBytes(3).toString("hex")}`,
    permissions: [],
  })) as unknown as { data: { id: number } };
  const invitation = await invite(app, owner, `invited${randomBytes(3).toString("hex")}@people.test`);
  const factor = (await call("POST", "/api/v1/me/mfa/factors", { factor_type: "totp" })) as unknown as {
    data: { id: number };
  };
  const account = await call("POST", `/api/devices/${device}/accounts`, { access_token: other.token });
  const challenge = await call("POST", "/api/auth/step-up/challenge", { method: "password" });
  const mcp = await call("POST", "/api/ops/mcp-servers", { name: "tools", install_command: "npx tools" });
  const identities = `/api/organizations/${owner.org}/service-identities`;
  const identity = await call("POST", identities, { name: "workload", role_id: 3 });
  const automation = await call("POST", `${identities}/automation-token`, {
    name: "nightly",
    identity_id: identity["identity_id"],
  });
  const variable = (await call("POST", "/api/ops/custom-variables", { key: "city", value: "Bern" })) as unknown as {
    data: { id: number };
  };
  const template = await call("POST", "/api/templates", { name: "letter", category: "email", body: "<p>{{city}}</p>" });
  const secret = `secret-${randomBytes(6).toString("hex")}`;
  await call("PUT", `${admin}/secrets/${secret}`, { value: "x" });
  const meter = await call("POST", "/api/billing/metering/meters", { name: "m", event_name: "calls", unit: "call" });
  const elevatedToken = await elevated(app, token);
  const svid = done(
    await app.call("POST", "/api/auth/spiffe/svid", {
      token: elevatedToken,
      body: { service_identity_id: identity["identity_id"] },
    }),
  );
  const bought = await buy(app, owner.org, call);
  await call("POST", `${admin}/mtls-ca`, { common_name: "Matrix CA", key_algorithm: "ecdsa-p256" });
  const certificate = await call("POST", `${admin}/mtls-ca/certificates`, { common_name: "client" });
  const connection = await call("POST", `${admin}/oidc-connections`, connectionDraft());
  const target = randomUUID();
  const made = `insert into cloud_targets (target_id, install_id, org_uuid, provider, region, status, created_at)
     values ($1, $2, $3, 'aws', 'eu-1', 'active', now())`;
  await runSql(app.databaseUrl, made, [target, install["install_id"], owner.org]);
  const events = (await call("GET", "/api/auth/events")) as unknown as { data: { event_id: string }[] };

  return {
    owner,
    token,
    elevated: elevatedToken,
    ids: {
      org_uuid: owner.org,
      user_uuid: other.userUuid,
      session_id: sid,
      event_id: events.data[0]?.event_id ?? "",
      api_key: key.id,
      token_id: scim["token_id"] ?? "",
      signing_key: signing["key_id"] ?? "",
      app_id: appId,
      slug,
      install_id: install["install_id"] ?? "",
      webhook_id: webhook["webhook_id"] ?? "",
      delivery_id: delivery["delivery_id"] ?? "",
      device_uuid: device,
      role_id: String(role.data.id),
      invitation_id: invitation.id,
      factor: String(factor.data.id),
      account: account["id"] ?? "",
      challenge_id: challenge["challenge_id"] ?? "",
      target_id: target,
      ...bought,
      meter: meter["id"] ?? "",
      variable: String(variable.data.id),
      template: template["id"] ?? "",
      mcp_server: mcp["id"] ?? "",
      identity_id: identity["identity_id"] ?? "",
      automation_token: automation["token_id"] ?? "",
      secret,
      secret_version: "1",
      svid_id: svid["svid_id"] ?? "",
      cert_uuid: certificate["cert_uuid"] ?? "",
      connection_uuid: connection["connection_uuid"] ?? "",
      // Not an id, but a credential that proves an account.
      proof: (await member(app, owner)).token,
    },
  };
}
