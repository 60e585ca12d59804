import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { covers, scopeOf } from "../../src/domains/rbac/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

/** An API key of somebody's making. */
async function key(by: Somebody, ...scopes: string[]): Promise<Somebody> {
  const { status, body, text } = await app.call("POST", `/api/admin/organizations/${by.org}/api-keys`, {
    token: by.token,
    body: { name: "test", scopes },
  });
  expect(status, text).toBe(201);
  return { ...by, token: body.api_key as string };
}

const setRole = (by: Somebody, of: Somebody, role: string) =>
  app.call("PUT", `/api/users/${of.userUuid}/role`, { token: by.token, body: { role } });
const status = async (by: Somebody) => (await app.call("GET", "/api/auth/me", { token: by.token })).status;

describe("an API key", () => {
  it("an API key grants no role beyond its own scopes", async () => {
    const someone = await member(app, owner);
    const narrow = await key(owner, "read:users", "write:users", "read:apps");
    for (const role of ["admin", "manager", "employee"])
      expect(outcome(await setRole(narrow, someone, role)), role).toBe("403 forbidden");
    expect((await setRole(narrow, someone, "limited_access")).status).toBe(200);
    expect(outcome((await invite(app, narrow, "by-key@people.test", 1)).answer)).toBe("403 forbidden");
    const { answer } = await invite(app, narrow, "by-key@people.test", 5);
    expect(answer).toMatchObject({ status: 201, body: { invited_by: null } });
    const admin = await key(owner, "admin");
    expect(outcome(await setRole(admin, someone, "admin"))).toBe("403 forbidden");
    expect((await setRole(admin, someone, "manager")).status).toBe(200);
    expect((await setRole(await key(owner, "admin", "vault:write"), someone, "admin")).status).toBe(200);
  });

  it("an API key activates no member whose role is beyond its own scopes", async () => {
    const [admin, limited] = [await member(app, owner, 1), await member(app, owner, 5)];
    const narrow = await key(owner, "read:users", "write:users", "read:apps");
    const setStatus = (by: Somebody, of: Somebody, wanted: string) =>
      app.call("PATCH", `/api/users/${of.userUuid}`, { token: by.token, body: { status: wanted } });
    for (const of of [admin, limited]) expect(outcome(await setStatus(narrow, of, "inactive"))).toBe("200");
    expect(outcome(await setStatus(narrow, admin, "active"))).toBe("403 forbidden");
    const { body } = await app.call("GET", `/api/users?email=${admin.email}`, { token: owner.token });
    expect(body.data).toMatchObject([{ status: "inactive" }]);
    expect(outcome(await setStatus(narrow, limited, "active"))).toBe("200");
    expect(outcome(await setStatus(await key(owner, "admin"), admin, "active"))).toBe("403 forbidden");
    const whole = await key(owner, "admin", "vault:write");
    for (const wanted of ["active", "inactive"]) expect(outcome(await setStatus(whole, admin, wanted))).toBe("200");
    expect(outcome(await setStatus(owner, admin, "active"))).toBe("200");
  });

  it("an API key creates roles within its own scopes alone", async () => {
    const { body } = await app.call("GET", "/api/roles/permissions", { token: owner.token });
    const id = (name: string) => ({
      id: (body.data as { id: number; name: string }[]).find((permission) => permission.name === name)?.id ?? 0,
    });
    const roles = await key(owner, "read:roles", "write:roles");
    const add = (name: string, ...permissions: string[]) =>
      app.call("POST", "/api/v2/products/x/roles", {
        token: roles.token,
        body: { name, permissions: permissions.map(id) },
      });
    expect(outcome(await add("Too much", "role:read", "user:read"))).toBe("403 forbidden");
    expect((await add("Enough", "role:read", "role:assign")).status).toBe(200);
    expect(outcome(await app.call("GET", "/api/users", { token: roles.token }))).toBe("403 forbidden");
  });

  it("an API key neither changes owners nor makes them, and sees its own organization alone", async () => {
    const admin = await key(owner, "admin");
    for (const body of [{ status: "inactive" }, { is_owner: false }]) {
      expect(outcome(await app.call("PATCH", `/api/users/${owner.userUuid}`, { token: admin.token, body }))).toBe(
        "403 forbidden",
      );
    }
    expect(outcome(await app.call("DELETE", `/api/users/${owner.userUuid}`, { token: admin.token }))).toBe(
      "403 forbidden",
    );
    expect(outcome(await app.call("DELETE", `/api/organizations/${owner.org}`, { token: admin.token }))).toBe(
      "403 forbidden",
    );
    const { body } = await app.call("GET", "/api/organizations", { token: admin.token });
    expect(body).toMatchObject({ total: 1, data: [{ org_uuid: owner.org, is_owner: false, status: "active" }] });
    for (const path of ["/api/profile", "/api/profile/picture"]) {
      expect(outcome(await app.call("PUT", path, { token: admin.token, body: {} })), path).toBe("403 forbidden");
    }
  });

  it("an API key ends with its maker's membership and with the organization", async () => {
    const by = await founder(app);
    const maker = await member(app, by, 1);
    const [theirs, own] = [await key(maker, "admin"), await key(by, "admin")];
    expect([await status(theirs), await status(own)]).toEqual([200, 200]);
    await app.call("PATCH", `/api/users/${maker.userUuid}`, { token: by.token, body: { status: "inactive" } });
    expect([await status(theirs), await status(own)]).toEqual([401, 200]);
    expect(
      (await app.call("DELETE", `/api/organizations/${by.org}`, { token: await elevated(app, by.token) })).status,
    ).toBe(204);
    expect(await status(own)).toBe(401);
  });

  it("an API key stays revoked when its maker is activated or joins again", async () => {
    const by = await founder(app);
    const maker = await member(app, by, 1);
    const path = `/api/users/${maker.userUuid}`;
    const first = await key(maker, "admin");
    for (const wanted of ["inactive", "active"])
      expect((await app.call("PATCH", path, { token: by.token, body: { status: wanted } })).status).toBe(200);
    expect(await status(first)).toBe(401);
    const second = await key({ ...maker, token: await app.login(maker.email, password, by.orgName) }, "admin");
    expect((await app.call("DELETE", path, { token: by.token })).status).toBe(204);
    const { token } = await invite(app, by, maker.email, 1);
    expect((await app.call("POST", "/api/auth/invite/accept", { body: { token, password } })).status).toBe(200);
    expect(await status(second)).toBe(401);
    const { body } = await app.call("GET", `/api/admin/organizations/${by.org}/api-keys`, { token: by.token });
    expect((body.data as { status: string }[]).map((one) => one.status)).toEqual(["revoked", "revoked"]);
  });
});

describe("permissions", () => {
  it("a scope covers every permission of the catalogue", async () => {
    const { body } = await app.call("GET", "/api/roles/permissions", { token: owner.token });
    for (const { name } of body.data as { name: string }[])
      expect(scopeOf(name), name).toMatch(/^(?:read|write):[a-z]+$/u);
  });

  it.each([
    [{ isAdmin: true, canWriteVault: true, scopes: null }, ["vault:write", "user:create"], true],
    [{ isAdmin: true, canWriteVault: false, scopes: null }, ["vault:write"], false],
    [{ isAdmin: false, canWriteVault: false, scopes: null }, ["user:read"], false],
    [{ isAdmin: true, canWriteVault: true, scopes: new Set(["vault:write"]) }, ["vault:write"], false],
    [{ isAdmin: true, canWriteVault: true, scopes: new Set(["vault:write", "write:secrets"]) }, ["vault:write"], true],
    [{ isAdmin: true, canWriteVault: true, scopes: new Set(["read:users"]) }, ["user:create"], false],
    [{ isAdmin: true, canWriteVault: true, scopes: new Set(["read:users"]) }, ["unknown:read"], false],
  ])("a caller with %j may grant %j: %s", (caller, permissions, expected) => {
    expect(covers(caller, permissions)).toBe(expected);
  });
});
