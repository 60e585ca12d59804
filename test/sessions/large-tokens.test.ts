import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish, refreshed } from "../marketplace/stage.ts";
import { signIn } from "./support.ts";

/** Slugs of the greatest length, 63 characters. */
const SLUG = "rpad($2 || '-' || lpad(n::text, 3, '0'), 63, 'x')";

let app: TestApp;
let platform: string;
let publisher: Somebody;
let owner: Somebody;
let original: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  platform = await app.login();
  [publisher, owner] = [await founder(app), await founder(app)];
  original = (await publish(app, publisher.token, {}, platform)).appId;
});
afterAll(() => app.close());

/** Copies of an app for an organization, one made each second from the start on; oldest first. */
async function copies(count: number, prefix: string, org: string): Promise<{ id: string; slug: string }[]> {
  return runSql(
    app.databaseUrl,
    `with copy as (
       select n, gen_random_uuid() as id, ${SLUG} as slug from generate_series(1, $3::int) n),
     slugs as (insert into app_slugs (slug) select slug from copy),
     made as (
       insert into apps (app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents,
         currency, plans, provision_webhook, webhook_secret, status, created_by, key_id, created_at, updated_at)
       select copy.id, $4, copy.slug, name, description, deployment_modes, pricing_model, base_price_cents, currency,
         plans, provision_webhook, webhook_secret, 'draft', created_by, key_id,
         $5::timestamptz + n * interval '1 second', updated_at
       from apps, copy where app_id = $1)
     select id, slug from copy order by n`,
    [original, prefix, count, org, new Date(app.clock.now() - 86_400_000)],
  );
}

/** Active installs of apps in an organization, as copies of one install of it. */
async function install(org: string, apps: readonly { id: string }[]): Promise<void> {
  await runSql(
    app.databaseUrl,
    `insert into installs (install_id, app_id, org_uuid, status, deployment_mode, plan_id, quantity, payment_source,
       sandbox, created_at, updated_at)
     select gen_random_uuid(), id, $1, 'active', 'multi_tenant', 'default', 1, 'none', false, $3, $3
     from unnest($2::uuid[]) id`,
    [org, apps.map(({ id }) => id), new Date(app.clock.now())],
  );
}

const me = async (token: string) => must(await app.call("GET", "/api/auth/me", { token }));
const check = async (token: string, feature: string, org: string) =>
  must(await app.call("POST", "/api/entitlements/check", { token, body: { feature, org_uuid: org } }));
const claimsOf = (token: string) =>
  decodeJwt<{ app_admin: string[]; entitlements: string[]; truncated?: string[] }>(token);

describe("a token that cannot hold all apps and entitlements of its organization", () => {
  it("the token of an owner of 200 apps is accepted, and gives the power over every one of them", async () => {
    const who = await founder(app);
    const made = await copies(200, "drafts", who.org);
    const { token } = await signIn(app, who);
    expect(token.length).toBeLessThanOrEqual(8192);
    const claims = claimsOf(token);
    expect(claims.truncated).toEqual(["app_admin"]);
    expect(claims.app_admin).toEqual(made.slice(-claims.app_admin.length).map(({ id }) => id));
    expect((await me(token)).app_admin).toEqual(made.map(({ id }) => id));
    expect(await check(token, `app:${made[0]?.slug}`, who.org)).toEqual({ granted: true, reason: "role:app_admin" });
    expect(outcome(await app.call("GET", appPath(made[0]?.id ?? "", "/admins"), { token }))).toBe("200");
    expect((await me(await elevated(app, token))).app_admin).toHaveLength(200);
  });

  it("the token of a member with 200 granted apps is accepted, with the valid grants of its time", async () => {
    const worker = await member(app, owner);
    const made = await copies(200, "granted", owner.org);
    const grant = (ids: string[]) =>
      runSql(
        app.databaseUrl,
        `insert into app_admins (grant_id, app_id, user_uuid, granted_by, created_at)
         select gen_random_uuid(), id, $1, $2, $4::timestamptz - (200 - n) * interval '1 second'
         from unnest($3::uuid[]) with ordinality as g (id, n)`,
        [worker.userUuid, owner.userUuid, ids, new Date(app.clock.now())],
      );
    await grant(made.map(({ id }) => id));
    const token = await refreshed(app, worker);
    const [first, second] = made.map(({ id }) => id) as [string, string];
    expect(claimsOf(token)).toMatchObject({ truncated: ["app_admin"], app_admin: expect.not.arrayContaining([first]) });
    expect((await me(token)).app_admin).toEqual(made.map(({ id }) => id));
    expect(outcome(await app.call("GET", appPath(first, "/admins"), { token }))).toBe("200");

    app.clock.advance(1_000);
    const [later] = await copies(1, "later", owner.org);
    await grant([later?.id ?? ""]);
    await runSql(app.databaseUrl, "update app_admins set created_at = $2 where app_id = $1", [
      later?.id,
      new Date(app.clock.now()),
    ]);
    await runSql(app.databaseUrl, "update apps set key_rotated_at = $2 where app_id = $1", [
      second,
      new Date(app.clock.now()),
    ]);
    const shown = (await me(token)).app_admin as string[];
    expect([shown.length, shown.includes(second), shown.includes(later?.id ?? "")]).toEqual([199, false, false]);
    expect(outcome(await app.call("GET", appPath(second, "/admins"), { token }))).toBe("403 forbidden");
  });

  it("the token of a member of an organization with 150 installs is accepted, with every entitlement", async () => {
    const who = await founder(app);
    const worker = await member(app, who);
    const apps = await copies(150, "installed", publisher.org);
    await install(who.org, apps);
    const token = await refreshed(app, worker);
    const slugs = apps.map(({ slug }) => `app:${slug}`);
    expect(token.length).toBeLessThanOrEqual(8192);
    const { truncated, entitlements } = claimsOf(token);
    expect(truncated).toEqual(["entitlements"]);
    expect(entitlements).toEqual(["marketplace", ...slugs].slice(0, entitlements.length));
    expect((await me(token)).entitlements).toEqual(["marketplace", ...slugs]);
    const last = slugs.at(-1) as string;
    expect(await check(token, last, who.org)).toEqual({ granted: true, reason: `entitlement:${last}` });
    const batch = await app.call("POST", "/api/entitlements/check-batch", {
      token,
      body: { checks: [last, "app:none"].map((feature) => ({ feature, org_uuid: who.org })) },
    });
    expect(batch.body.data).toMatchObject([
      { granted: true, explain: { decided_by: "install", claim: "entitlements" } },
      { granted: false, reason: "denied" },
    ]);
    await runSql(app.databaseUrl, "update installs set status = 'deprovisioned' where app_id = $1", [apps[149]?.id]);
    expect(await check(token, last, who.org)).toEqual({ granted: false, reason: "denied" });
  });

  it("a token signed with RSA holds about half of each list when neither fits, and is accepted", async () => {
    const who = await founder(app);
    const made = await copies(200, "rsa", who.org);
    await install(who.org, await copies(150, "bought", publisher.org));
    const key = await app.call("POST", `/api/admin/organizations/${who.org}/signing-keys`, {
      token: who.token,
      body: { algorithm: "rsa4096" },
    });
    expect(key.status, key.text).toBe(201);
    const { token } = await signIn(app, who);
    expect(token.length).toBeLessThanOrEqual(8192);
    const { truncated, app_admin: apps, entitlements } = claimsOf(token);
    expect(truncated).toEqual(["entitlements", "app_admin"]);
    const sizes = [JSON.stringify(apps).length, JSON.stringify(entitlements).length] as const;
    expect(Math.abs(sizes[0] - sizes[1])).toBeLessThan(150);
    const shown = await me(token);
    expect([shown.app_admin, shown.entitlements.length]).toEqual([made.map(({ id }) => id), 151]);
  });
});
