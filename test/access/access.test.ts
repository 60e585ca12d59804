import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

const nobody = "0b1d2a3e-aaaa-4000-8000-00000000000f";

let app: TestApp;
let platform: string;
let publisher: Somebody;
let buyer: Somebody;
let appId: string;
let installId: string;

const check = (token: string, feature: string, org_uuid: string) =>
  app.call("POST", "/api/entitlements/check", { token, body: { feature, org_uuid } });
const batch = (token: string, checks: unknown) =>
  app.call("POST", "/api/entitlements/check-batch", { token, body: { checks } });
const refreshed = async (who: Somebody): Promise<string> =>
  (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } })).body
    .access_token as string;

beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  platform = await app.login();
  [publisher, buyer] = [await founder(app, "Publishers"), await founder(app, "Buyers")];
  const draft = {
    name: "Orbit",
    slug: "orbit",
    deployment_modes: ["multi_tenant"],
    provision_webhook: "http://127.0.0.1:1/hook",
  };
  const made = await app.call("POST", "/api/marketplace/apps", { token: publisher.token, body: draft });
  expect(made.status, made.text).toBe(201);
  appId = made.body.app_id as string;
  expect((await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: platform })).status).toBe(
    200,
  );
  const install = await app.call("POST", "/api/marketplace/orbit/install", { token: buyer.token, body: {} });
  expect(install.status, install.text).toBe(202);
  installId = install.body.install_id as string;
  await runSql(app.databaseUrl, "update installs set status = 'active', step = null where install_id = $1", [
    installId,
  ]);
  const [own, other] = [await refreshed(buyer), await refreshed(publisher)];
  [buyer, publisher] = [
    { ...buyer, token: own },
    { ...publisher, token: other },
  ];
});
afterAll(() => app.close());

describe("POST /api/entitlements/check", () => {
  it("an entitlement check grants the plan's features and the active installs of the own organization", async () => {
    expect((await check(buyer.token, "marketplace", buyer.org)).body).toEqual({
      granted: true,
      reason: "entitlement:marketplace",
    });
    expect((await check(buyer.token, "marketplace", buyer.org.toUpperCase())).body).toMatchObject({ granted: true });
    expect((await check(buyer.token, "app:orbit", buyer.org)).body).toEqual({
      granted: true,
      reason: "entitlement:app:orbit",
    });
    expect((await check(buyer.token, "priority_support", buyer.org)).body).toEqual({
      granted: false,
      reason: "denied",
    });
  });

  it("an install that is suspended entitles to nothing until it is resumed", async () => {
    const { token, org, refreshToken } = buyer;
    const becomes = async (change: "suspend" | "resume") => {
      const path = `/api/marketplace/apps/${appId}/installs/${installId}/${change}`;
      expect((await app.call("POST", path, { token: publisher.token })).status).toBe(200);
    };
    let held = refreshToken;
    const entitled = async (): Promise<unknown[]> => {
      const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: held } });
      held = body.refresh_token as string;
      const organization = (await app.call("GET", `/api/organizations/${org}`, { token })).body;
      const checked = (await check(body.access_token as string, "app:orbit", org)).body;
      return [checked.granted, (organization.entitlements as string[]).includes("app:orbit")];
    };
    await becomes("suspend");
    expect(await entitled()).toEqual([false, false]);
    await becomes("resume");
    expect(await entitled()).toEqual([true, true]);
  });

  it("an entitlement check denies everything of another organization, known or not", async () => {
    for (const org of [publisher.org, nobody]) {
      for (const feature of ["marketplace", "app:orbit", "none"])
        expect((await check(buyer.token, feature, org)).body).toEqual({ granted: false, reason: "denied" });
    }
  });

  it("an entitlement check grants app administrators their app and platform administrators everything", async () => {
    for (const org of [publisher.org, buyer.org, nobody]) {
      expect((await check(publisher.token, "app:orbit", org)).body).toEqual({
        granted: true,
        reason: "role:app_admin",
      });
      expect((await check(platform, "anything", org)).body).toEqual({ granted: true, reason: "role:platform_admin" });
    }
    expect((await check(publisher.token, "app:other", publisher.org)).body).toEqual({
      granted: false,
      reason: "denied",
    });
    expect((await check(publisher.token, "marketplace", buyer.org)).body).toEqual({ granted: false, reason: "denied" });
  });

  it("an entitlement check uses the token, so a new plan counts after a refresh", async () => {
    const by = await founder(app);
    await app.call("PATCH", `/api/organizations/${by.org}`, { token: platform, body: { plan: "pro" } });
    expect((await check(by.token, "priority_support", by.org)).body.granted).toBe(false);
    expect((await check(await refreshed(by), "priority_support", by.org)).body).toEqual({
      granted: true,
      reason: "entitlement:priority_support",
    });
  });

  it("keys of any scope may check entitlements, with no more than what their organization is entitled to", async () => {
    const org = (await app.call("GET", "/api/auth/me", { token: platform })).body.org_uuid as string;
    const made = await app.call("POST", `/api/admin/organizations/${org}/api-keys`, {
      token: platform,
      body: { name: "checks", scopes: ["read:templates"] },
    });
    const key = made.body.api_key as string;
    const answers = await Promise.all([
      check(key, "marketplace", org),
      check(key, "priority_support", org),
      check(key, "marketplace", buyer.org),
      batch(key, [{ feature: "marketplace", org_uuid: org }]),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.map(({ body }) => body.reason ?? body.data[0].reason)).toEqual([
      "entitlement:marketplace",
      "denied",
      "denied",
      "entitlement:marketplace",
    ]);
    expect((await app.call("GET", "/api/auth/me", { token: key })).body).toMatchObject({ platform_admin: false });
  });

  it("members of every role may check entitlements", async () => {
    const observer = await member(app, buyer, 5);
    expect((await check(observer.token, "app:orbit", buyer.org)).body.granted).toBe(true);
    expect(
      outcome(await app.call("POST", "/api/entitlements/check", { body: { feature: "x", org_uuid: buyer.org } })),
    ).toBe("401 unauthorized");
  });

  it.each([
    {},
    { feature: "x" },
    { org_uuid: nobody },
    { feature: "", org_uuid: nobody },
    { feature: "x".repeat(201), org_uuid: nobody },
    { feature: "x", org_uuid: "y" },
  ])("an entitlement check returns 400 for %j", async (body) => {
    expect(outcome(await app.call("POST", "/api/entitlements/check", { token: buyer.token, body }))).toBe(
      "400 validation_error",
    );
  });
});

describe("POST /api/entitlements/check-batch", () => {
  it("a batch of entitlement checks explains each decision in the order of the checks", async () => {
    const { body } = await batch(buyer.token, [
      { feature: "app:orbit", org_uuid: buyer.org },
      { feature: "marketplace", org_uuid: buyer.org },
      { feature: "sso", org_uuid: buyer.org },
      { feature: "marketplace", org_uuid: publisher.org },
    ]);
    expect(body.data).toEqual([
      {
        feature: "app:orbit",
        org_uuid: buyer.org,
        granted: true,
        reason: "entitlement:app:orbit",
        explain: {
          decided_by: "install",
          claim: "entitlements",
          app_id: appId,
          install_id: installId,
          step_up_required: false,
        },
      },
      {
        feature: "marketplace",
        org_uuid: buyer.org,
        granted: true,
        reason: "entitlement:marketplace",
        explain: { decided_by: "claim", claim: "entitlements", step_up_required: false },
      },
      {
        feature: "sso",
        org_uuid: buyer.org,
        granted: false,
        reason: "denied",
        explain: { decided_by: "none", step_up_required: false },
      },
      {
        feature: "marketplace",
        org_uuid: publisher.org,
        granted: false,
        reason: "denied",
        explain: { decided_by: "claim", claim: "org", step_up_required: false },
      },
    ]);
  });

  it("a batch explains app administration by the grant, and by the claim where there is no grant", async () => {
    const ask = [{ feature: "app:orbit", org_uuid: buyer.org }];
    const granted = (await batch(publisher.token, ask)).body.data[0];
    expect(granted).toMatchObject({
      reason: "role:app_admin",
      explain: { decided_by: "grant", claim: "app_admin", app_id: appId, grant_id: expect.any(String) },
    });
    expect((await batch(platform, ask)).body.data[0]).toMatchObject({
      reason: "role:platform_admin",
      explain: { decided_by: "claim", claim: "platform_admin" },
    });
    await runSql(app.databaseUrl, "delete from app_admins where app_id = $1", [appId]);
    expect((await batch(publisher.token, ask)).body.data[0]).toMatchObject({
      reason: "role:app_admin",
      explain: { decided_by: "claim", claim: "app_admin", app_id: appId },
    });
  });

  it.each([[undefined], [[]], [Array(101).fill({ feature: "x", org_uuid: nobody })], [[{ feature: "x" }]]])(
    "a batch of entitlement checks returns 400 for %j",
    async (checks) => {
      expect(outcome(await batch(buyer.token, checks))).toBe("400 validation_error");
    },
  );

  it("a batch takes a hundred entitlement checks", async () => {
    const { body } = await batch(
      buyer.token,
      Array.from({ length: 100 }, (_, at) => ({ feature: `app:a${at}`, org_uuid: buyer.org })),
    );
    expect(body.data).toHaveLength(100);
  });
});

describe("GET /api/auth/me and an app's access", () => {
  it("/me lists the scopes that a person has by role and by flag, and those of a key", async () => {
    const scopes = async (token: string): Promise<unknown> =>
      (await app.call("GET", "/api/auth/me", { token })).body["scopes"];
    const flag = (value: boolean) =>
      runSql(app.databaseUrl, "update people set is_operator = $2 where email_key = $1", [publisher.email, value]);
    const key = await app.call("POST", `/api/admin/organizations/${publisher.org}/api-keys`, {
      token: publisher.token,
      body: { name: "ci", scopes: ["read:users", "admin"] },
    });
    expect(await scopes(platform)).toEqual(["admin", "vault:write", "platform_admin", "superuser", "operator"]);
    expect(await scopes(publisher.token)).toEqual(["admin", "vault:write"]);
    expect(await scopes((await member(app, buyer, 3)).token)).toEqual([]);
    expect(await scopes(key.body.api_key as string)).toEqual(["read:users", "admin"]);
    await flag(true);
    expect(await scopes(publisher.token)).toEqual(["admin", "vault:write", "operator"]);
    await flag(false);
    expect(await scopes(publisher.token)).toEqual(["admin", "vault:write"]);
  });

  it("the owner of the publishing organization administers its app in /me and in the app's access", async () => {
    expect((await app.call("GET", "/api/auth/me", { token: publisher.token })).body.app_admin).toEqual([appId]);
    expect((await app.call("GET", `/api/marketplace/apps/${appId}/access`, { token: publisher.token })).body).toEqual({
      is_app_admin: true,
      is_org_owner: true,
      install_status: null,
      install_id: null,
    });
    expect((await app.call("GET", `/api/marketplace/apps/${appId}/access`, { token: buyer.token })).body).toEqual({
      is_app_admin: false,
      is_org_owner: false,
      install_status: "active",
      install_id: installId,
    });
    expect(outcome(await app.call("GET", `/api/marketplace/apps/${nobody}/access`, { token: buyer.token }))).toBe(
      "404 app_not_found",
    );
  });
});
