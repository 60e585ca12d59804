import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let token: string;
let org: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
});
afterAll(() => app.close());

const keys = () => `/api/admin/organizations/${org}/api-keys`;
const make = async (scopes: string[], by = token) =>
  (await app.call("POST", keys(), { token: by, body: { name: "ci", scopes } })).body as {
    key_id: string;
    api_key: string;
  };

describe("an API key", () => {
  test("an API key is returned once and authenticates within its scopes", async () => {
    const made = await app.call("POST", keys(), {
      token,
      body: { name: "ci", scopes: ["read:events"], expires_in_days: 30 },
    });
    expect(made).toMatchObject({ status: 201, body: { name: "ci", scopes: ["read:events"] } });
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(made.body.api_key).toMatch(/^atr_dev_[0-9a-f-]{36}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
    const key = made.body.api_key as string;
    const me = await app.call("GET", "/api/auth/me", { token: key });
    expect(me).toMatchObject({
      status: 200,
      body: { user_uuid: null, org_uuid: org, principal: { type: "api_key", id: made.body.key_id } },
    });
    expect((await app.call("GET", "/api/auth/events", { token: key })).status).toBe(200);
    expect(await app.call("GET", keys(), { token: key })).toMatchObject({ status: 403, body: { code: "forbidden" } });
    for (const path of ["/api/v1/me/mfa/factors", "/api/profile", "/api/auth/step-up/status"])
      expect((await app.call("GET", path, { token: key })).status).toBe(403);
    const listed = (await app.call("GET", keys(), { token })).body.data[0];
    expect(listed).toEqual({
      key_id: made.body.key_id,
      name: "ci",
      prefix: `atr_dev_${made.body.key_id.slice(0, 8)}`,
      last4: key.slice(-4),
      scopes: ["read:events"],
      status: "active",
      expires_at: made.body.expires_at,
      last_used_at: expect.any(String) as unknown,
      created_at: made.body.created_at,
    });
    expect(JSON.stringify(listed)).not.toContain(key.slice(45, 80));
  });

  test("an API key has no scope its creator lacks, and is refused when revoked, forged or expired", async () => {
    const reader = await make(["read:credentials", "write:credentials"]);
    expect(
      (await app.call("POST", keys(), { token: reader.api_key, body: { name: "child", scopes: ["read:users"] } }))
        .status,
    ).toBe(403);
    const child = await make(["read:credentials"], reader.api_key);
    expect((await app.call("GET", keys(), { token: child.api_key })).status).toBe(200);
    expect((await app.call("DELETE", `${keys()}/${child.key_id}`, { token })).status).toBe(204);
    expect((await app.call("GET", keys(), { token: child.api_key })).status).toBe(401);
    expect((await app.call("DELETE", `${keys()}/${child.key_id}`, { token })).status).toBe(404);
    const forged = `${reader.api_key.slice(0, 50)}${reader.api_key[50] === "a" ? "b" : "a"}${reader.api_key.slice(51)}`;
    expect((await app.call("GET", keys(), { token: forged })).status).toBe(401);
    app.clock.advance(366 * 86_400_000);
    expect((await app.call("GET", keys(), { token: reader.api_key })).status).toBe(401);
    token = await app.login();
  });

  test("creating an API key with unknown scopes returns 400", async () => {
    for (const scopes of [["read:moon"], [], ["read:users", "read:users"]]) {
      expect(await app.call("POST", keys(), { token, body: { name: "x", scopes } })).toMatchObject({
        status: 400,
        body: { code: "validation_error" },
      });
    }
  });

  test("an API key of another organization returns 404", async () => {
    const other = await app.call("POST", "/api/organizations", {
      body: { name: "Other", email: "eve@other.test", password: "correct horse battery staple", first_name: "Eve" },
    });
    const { key_id: keyId } = await make(["read:users"]);
    const foreign = `/api/admin/organizations/${other.body.org_uuid}/api-keys`;
    expect(await app.call("DELETE", `${foreign}/${keyId}`, { token: other.body.access_token })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
    expect(await app.call("GET", keys(), { token: other.body.access_token })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
    expect(
      (await app.call("GET", `${keys()}?limit=200`, { token })).body.data.find(
        (key: { key_id: string }) => key.key_id === keyId,
      ).status,
    ).toBe("active");
  });
});

describe("SCIM tokens", () => {
  test("an organization has at most five SCIM tokens, which authenticate SCIM routes only, until they are revoked", async () => {
    const path = `/api/admin/organizations/${org}/scim-tokens`;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => app.call("POST", path, { token, body: { name: `idp ${n}` } })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
    const made = answers.find(({ status }) => status === 201)?.body as { token: string; token_id: string };
    expect(Object.keys(made).sort()).toEqual(["created_at", "expires_at", "name", "token", "token_id"]);
    expect((await app.call("GET", "/api/auth/me", { token: made.token })).status).toBe(401);
    expect((await app.call("GET", `/scim/v2/organizations/${org}/Users`, { token })).status).toBe(401);
    expect((await app.call("GET", `/scim/v2/organizations/${org}/Users`, { token: made.token })).status).not.toBe(401);
    const revoke = () => app.call("DELETE", `${path}/${made.token_id}`, { token });
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 404]);
    expect((await app.call("GET", `/scim/v2/organizations/${org}/Users`, { token: made.token })).status).toBe(401);
    expect((await app.call("GET", path, { token })).body).toMatchObject({ total: 5 });
  });
});
