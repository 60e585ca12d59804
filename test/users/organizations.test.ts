import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, elevated, founder, invite, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
/** Token of the platform administrator. */
let platform: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  platform = await app.login();
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const read = (token: string, org: string, on = app) => on.call("GET", `/api/organizations/${org}`, { token });
const patch = (token: string, org: string, body: unknown) =>
  app.call("PATCH", `/api/organizations/${org}`, { token, body });
const remove = (token: string, org: string) => app.call("DELETE", `/api/organizations/${org}`, { token });
const nobody = "0b1d2a3e-aaaa-4000-8000-00000000000f";

describe("an organization", () => {
  it("an organization is renamed and keeps its old name reserved", async () => {
    const by = await founder(app, "Before Ltd");
    const renamed = await patch(by.token, by.org, { name: "  After Ltd " });
    expect(renamed).toMatchObject({
      status: 200,
      body: { org_uuid: by.org, name: "After Ltd", plan: "free", entitlements: ["marketplace"], jit_domains: [] },
    });
    const other = await founder(app);
    for (const name of ["before ltd", "AFTER LTD"])
      expect(outcome(await patch(other.token, other.org, { name })), name).toBe("409 conflict");
    await expect(app.login(by.email, password, "after ltd")).resolves.toBeDefined();
    await expect(app.login(by.email, password, "Before Ltd")).rejects.toThrow(/401/u);
    expect((await patch(by.token, by.org, { name: "Before Ltd" })).body).toMatchObject({ name: "Before Ltd" });
    expect((await patch(by.token, by.org, { name: "BEFORE LTD" })).body).toMatchObject({ name: "BEFORE LTD" });
    expect((await auditOf(app, by, "organization.updated"))[0]).toMatchObject({
      metadata: { before: { name: "Before Ltd" }, after: { name: "BEFORE LTD" } },
    });
  });

  it("a magic link admits people of the organization's mail domains", async () => {
    const by = await founder(app);
    const changed = await patch(by.token, by.org, { jit_domains: ["Bücher.test", "xn--bcher-kva.test", "b.test"] });
    expect(changed.body.jit_domains).toEqual(["xn--bcher-kva.test", "b.test"]);
    expect((await read(by.token, by.org)).body.jit_domains).toEqual(["xn--bcher-kva.test", "b.test"]);
    const { body } = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: "new@b.test", org_uuid: by.org },
    });
    const verified = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: body.dev_token } });
    expect((await app.call("GET", "/api/auth/me", { token: verified.body.access_token })).body).toMatchObject({
      org_uuid: by.org,
      roles: ["employee"],
    });
    expect((await patch(by.token, by.org, { jit_domains: [] })).body.jit_domains).toEqual([]);
    for (const jit_domains of [
      ["a@b.test"],
      ["*.b.test"],
      [""],
      [7],
      ["localhost"],
      ["b.test/x"],
      "b.test",
      Array(101).fill("b.test"),
    ]) {
      expect(outcome(await patch(by.token, by.org, { jit_domains })), JSON.stringify(jit_domains)).toBe(
        "400 validation_error",
      );
    }
  });

  it("administrators change their organization, and platform administrators alone its plan", async () => {
    const by = await founder(app);
    const [employee, stranger] = [await member(app, by), await founder(app)];
    expect(outcome(await patch(employee.token, by.org, { name: "X" }))).toBe("403 forbidden");
    expect(outcome(await patch(stranger.token, by.org, { name: "X" }))).toBe("404 not_found");
    expect(outcome(await patch(by.token, by.org, { plan: "enterprise" }))).toBe("403 forbidden");
    const upgraded = await patch(platform, by.org, { plan: "enterprise" });
    expect(upgraded.body).toMatchObject({
      plan: "enterprise",
      entitlements: ["marketplace", "priority_support", "extended_audit_retention"],
    });
    expect(outcome(await patch(platform, by.org, { plan: "golden" }))).toBe("400 invalid_plan");
    expect(outcome(await patch(platform, by.org, { name: "Taken over" }))).toBe("403 forbidden");
    for (const more of [{ jit_domains: [] }, { name: "Taken over" }, { sso_required: false }])
      expect(outcome(await patch(platform, by.org, { plan: "pro", ...more }))).toBe("403 forbidden");
    expect(outcome(await patch(platform, nobody, { plan: "pro" }))).toBe("404 not_found");
    expect(outcome(await read(platform, by.org))).toBe("404 not_found");
    expect((await read(by.token, by.org)).body).toMatchObject({ plan: "enterprise", name: by.orgName });
    for (const body of [{ name: "" }, { name: "x".repeat(201) }, { name: " \t" }, { name: "a\u0007b" }]) {
      expect(outcome(await patch(by.token, by.org, body)), JSON.stringify(body)).toBe("400 validation_error");
    }
    expect((await patch(by.token, by.org, {})).status).toBe(200);
  });
});

describe("organizations of a person", () => {
  it("an API key creates no organization, and the refusal names what it lacks", async () => {
    const by = await founder(app);
    const body = { name: "for sign-up", scopes: ["admin"] };
    const made = await app.call("POST", `/api/admin/organizations/${by.org}/api-keys`, { token: by.token, body });
    const token = made.body.api_key as string;
    const refused = await app.call("POST", "/api/organizations", { token, body: { name: "Of a key" } });
    expect(refused).toMatchObject({
      status: 403,
      body: { code: "forbidden", message: "This needs a person's own access token." },
    });
  });

  it("the organizations of a person are listed by name with role and status", async () => {
    const [person, host] = [await founder(app, "Zebra"), await founder(app, "Aardvark")];
    const { token } = await invite(app, host, person.email, 4);
    const { body } = await app.call("POST", "/api/auth/invite/accept", { token: person.token, body: { token } });
    const list = async () => (await app.call("GET", "/api/organizations", { token: person.token })).body;
    expect(await list()).toMatchObject({
      total: 2,
      data: [
        { org_uuid: host.org, name: "Aardvark", role: "observer", role_id: 4, is_owner: false, status: "active" },
        { org_uuid: person.org, name: "Zebra", role: "admin", role_id: 1, is_owner: true, status: "active" },
      ],
    });
    await app.call("PATCH", `/api/users/${person.userUuid}`, { token: host.token, body: { status: "inactive" } });
    expect((await list()).data[0]).toMatchObject({ name: "Aardvark", status: "inactive" });
    await app.call("DELETE", `/api/users/${person.userUuid}`, { token: host.token });
    expect(await list()).toMatchObject({ total: 1, data: [{ name: "Zebra" }] });
    expect((await app.call("GET", "/api/auth/me", { token: body.data.access_token })).status).toBe(401);
  });
});

describe("the end of an organization", () => {
  it("owners with an elevated token alone may delete their organization", async () => {
    const by = await founder(app);
    const [admin, stranger] = [await member(app, by, 1), await founder(app)];
    expect(outcome(await remove(await elevated(app, admin.token), by.org))).toBe("403 forbidden");
    expect(outcome(await remove(by.token, by.org))).toBe("403 step_up_required");
    expect(outcome(await remove(await elevated(app, stranger.token), by.org))).toBe("404 not_found");
    expect((await read(by.token, by.org)).status).toBe(200);
  });

  it("an owner who is removed at that moment does not delete the organization", async () => {
    const by = await founder(app);
    const strong = await elevated(app, by.token);
    const held = await holding(app.databaseUrl);
    await held.run("select 1 from organizations where uuid = $1 for no key update", [by.org]);
    const removal = remove(strong, by.org);
    await held.waitedFor();
    await held.run(
      `update memberships set is_owner = false, status = 'removed', version = version + 1
       where org_uuid = $1 and user_uuid = $2`,
      [by.org, by.userUuid],
    );
    await held.commit();
    expect(outcome(await removal)).toBe("401 unauthorized");
    expect((await app.call("GET", `/api/organizations/${by.org}/.well-known/jwks.json`)).status).toBe(200);
  });

  it("the end of an organization stops everything of it at once on every instance, and nothing else", async () => {
    const by: Somebody = await founder(app, "Ephemeral");
    const guest = await founder(app);
    const pending = await invite(app, by, "late@people.test");
    const { token } = await invite(app, by, guest.email, 1);
    const joined = (await app.call("POST", "/api/auth/invite/accept", { token: guest.token, body: { token } })).body
      .data as { access_token: string; refresh_token: string };
    const strong = await elevated(app, by.token);
    expect((await read(by.token, by.org, second)).status).toBe(200);
    expect((await remove(strong, by.org)).status).toBe(204);
    for (const on of [second, app]) {
      for (const dead of [by.token, strong, joined.access_token])
        expect((await on.call("GET", "/api/auth/me", { token: dead })).status).toBe(401);
      for (const dead of [by.refreshToken, joined.refresh_token])
        expect((await on.call("POST", "/api/auth/refresh", { body: { refresh_token: dead } })).status).toBe(401);
      expect((await on.call("GET", `/api/organizations/${by.org}/.well-known/jwks.json`)).status).toBe(404);
    }
    await expect(app.login(by.email, password, "Ephemeral")).rejects.toThrow(/401/u);
    expect(outcome(await app.call("GET", `/api/auth/invite/${pending.token}`))).toBe("404 invitation_not_found");
    expect(
      outcome(await app.call("POST", "/api/auth/invite/accept", { body: { token: pending.token, ...newcomer() } })),
    ).toBe("404 invitation_not_found");
    expect((await app.call("GET", "/api/auth/orgs/check?name=ephemeral")).body.data.available).toBe(false);
    expect(
      outcome(await app.call("POST", "/api/organizations", { token: guest.token, body: { name: "EPHEMERAL" } })),
    ).toBe("409 conflict");
    const { body } = await app.call("GET", "/api/organizations", { token: guest.token });
    expect((body.data as { org_uuid: string }[]).map(({ org_uuid }) => org_uuid)).toEqual([guest.org]);
    expect(outcome(await patch(platform, by.org, { plan: "pro" }))).toBe("404 not_found");
    const { body: log } = await app.call("GET", `/api/auth/events?org_uuid=${by.org}`, { token: platform });
    expect((log.data as { type: string }[]).map(({ type }) => type)).toContain("session.bulk_revoked");
  });

  it("the end of an organization archives its apps and deprovisions its installs", async () => {
    const [by, buyer] = [await founder(app), await founder(app)];
    const draft = {
      name: "Brief",
      slug: "brief",
      deployment_modes: ["multi_tenant"],
      provision_webhook: "http://127.0.0.1:1/hook",
    };
    const { body: made } = await app.call("POST", "/api/marketplace/apps", { token: by.token, body: draft });
    await app.call("POST", `/api/admin/marketplace/apps/${made.app_id}/approve`, { token: platform });
    for (const { token } of [by, buyer])
      expect((await app.call("POST", "/api/marketplace/brief/install", { token, body: {} })).status).toBe(202);
    expect((await remove(await elevated(app, by.token), by.org)).status).toBe(204);
    expect((await app.call("GET", "/api/marketplace/brief", { token: buyer.token })).status).toBe(404);
    const { body } = await app.call("GET", "/api/admin/marketplace/installs", { token: platform });
    const statusOf = (org: string) =>
      (body.data as { org_uuid: string; status: string }[])
        .filter(({ org_uuid }) => org_uuid === org)
        .map(({ status }) => status);
    expect([statusOf(by.org), statusOf(buyer.org)]).toEqual([["deprovisioning"], ["provisioning"]]);
  });
});
