import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let second: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1", SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  token = await app.login();
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const post = (path: string, body: unknown, bearer?: string) => app.call("POST", path, { body, token: bearer });

describe("POST /api/auth/login", () => {
  it("login returns exactly the members that the interface and the decisions name", async () => {
    const answer = await post("/api/auth/login", {
      email: "owner@acme.test",
      password: app.owner.password,
      org_name: "acme",
    });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual([
      "access_token",
      "device_uuid",
      "expires_in",
      "refresh_token",
      "token_type",
      "user",
    ]);
    expect(Object.keys(answer.body.user)).toEqual(["id", "email"]);
    expect(answer.body).toMatchObject({ token_type: "Bearer", expires_in: 900 });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("login uses the device of X-Device-Uuid", async () => {
    const device = "0b1d2a3e-aaaa-4000-8000-00000000000f";
    const body = { email: app.owner.email, password: app.owner.password, org_name: app.owner.org };
    const answer = await app.call("POST", "/api/auth/login", {
      body,
      headers: { "x-device-uuid": device.toUpperCase() },
    });
    expect(answer.body.device_uuid).toBe(device);
    expect(
      (await app.call("POST", "/api/auth/login", { body, headers: { "x-device-uuid": "no" } })).body,
    ).toMatchObject({ status: 400, code: "validation_error" });
  });

  it("login returns the same response for every wrong combination", async () => {
    const { email, password, org } = app.owner;
    const tries = [
      { email, password: "x", org_name: org },
      { email: "x@y.test", password, org_name: org },
      { email, password, org_name: "x" },
      { email: "x", password, org_name: org },
    ];
    const answers = await Promise.all(tries.map((body) => post("/api/auth/login", body)));
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect({ ...body, request_id: "" }).toEqual({ ...answers[0]?.body, request_id: "" });
    }
  });

  it("an email whose 254th character is half of a pair is refused and recorded like any other", async () => {
    const email = `${"a".repeat(253)}\u{1F600}`;
    const answer = await post("/api/auth/login", { email, password: "whatever1", org_name: app.owner.org });
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    const { body } = await app.call("GET", "/api/auth/events?type=login.password&outcome=failure&limit=1", { token });
    expect(body.data[0].metadata).toEqual({ code: "unauthorized", email: `${"a".repeat(253)}\uFFFD` });
  });

  it("login returns 400 with the missing fields", async () => {
    expect((await post("/api/auth/login", { email: "x" })).body).toMatchObject({
      status: 400,
      code: "validation_error",
      errors: [{ field: "password" }],
    });
  });
});

describe("GET /api/auth/me", () => {
  it("me describes the caller with the documented members", async () => {
    const { status, body } = await app.call("GET", "/api/auth/me", { token });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([
      "app_admin",
      "email",
      "entitlements",
      "org_name",
      "org_uuid",
      "platform_admin",
      "roles",
      "sandbox",
      "scopes",
      "user_uuid",
    ]);
    expect(body).toMatchObject({
      email: "owner@acme.test",
      org_name: "Acme",
      roles: ["admin"],
      scopes: ["admin", "vault:write", "platform_admin", "superuser", "operator"],
      app_admin: [],
      platform_admin: true,
      sandbox: false,
    });
  });

  it("me shows nulls for a token without organization, which most routes refuse", async () => {
    const { body: sent } = await post("/api/auth/magic-link/send", { email: "free@nowhere.test" });
    const { body: free } = await post("/api/auth/magic-link/verify", { token: sent.dev_token });
    const { body } = await app.call("GET", "/api/auth/me", { token: free.access_token });
    expect(body).toMatchObject({
      email: "free@nowhere.test",
      org_uuid: null,
      org_name: null,
      roles: [],
      entitlements: [],
    });
    for (const path of ["/api/profile", "/api/auth/sessions", "/api/organizations"])
      expect((await app.call("GET", path, { token: free.access_token })).status, path).toBe(200);
    for (const path of ["/api/roles", "/api/installs", "/api/auth/events"])
      expect((await app.call("GET", path, { token: free.access_token })).status, path).toBe(403);
  });

  it("me returns 401 without a bearer token", async () => {
    for (const bearer of [undefined, "x", `${token}x`]) {
      const answer = await app.call("GET", "/api/auth/me", { token: bearer });
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthorized" } });
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/u);
    }
  });
});

describe("magic links", () => {
  it("a magic link signs in once, of fifty uses on two instances", async () => {
    const { body: sent } = await post("/api/auth/magic-link/send", {
      email: "race@acme.test",
      redirect_to: "https://app.test/",
    });
    expect(sent).toEqual({ sent: true, dev_token: sent.dev_token, expires_in_seconds: 900 });
    const uses = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } }),
    );
    const answers = await Promise.all(uses);
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(won[0]?.body).toMatchObject({
      token_type: "Bearer",
      expires_in: 86_400,
      user: { email: "race@acme.test" },
      redirect_to: "https://app.test/",
    });
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(49);
  });

  it("the token of a magic link is null without the development echo", async () => {
    const { body } = await second.call("POST", "/api/auth/magic-link/send", { body: { email: "quiet@acme.test" } });
    expect(body).toEqual({ sent: true, dev_token: null, expires_in_seconds: 900 });
  });

  it.each([
    [{}],
    [{ email: "" }],
    [{ email: "a@b.test, c@d.test" }],
    [{ email: "a@b.test\r\nBcc: c@d.test" }],
    [{ email: `${"x".repeat(10_000)}@b.test` }],
    [{ email: "a@b.test", redirect_to: "javascript:x" }],
  ])("a magic link is refused for %j", async (body) => {
    expect((await post("/api/auth/magic-link/send", body)).body).toMatchObject({ status: 400, code: "bad_request" });
  });

  it("verifying a magic link without a token returns 400", async () => {
    expect((await post("/api/auth/magic-link/verify", {})).body).toMatchObject({ status: 400, code: "bad_request" });
    expect((await post("/api/auth/magic-link/verify", { token: "wrong" })).body).toMatchObject({
      status: 401,
      code: "unauthorized",
    });
  });
});

describe("sessions", () => {
  it("a session is refreshed and listed, and ends on every instance with logout", async () => {
    const { body: login } = await post("/api/auth/login", {
      email: app.owner.email,
      password: app.owner.password,
      org_name: app.owner.org,
    });
    const refreshed = await post("/api/auth/refresh", { refresh_token: login.refresh_token });
    expect(refreshed).toMatchObject({
      status: 200,
      body: { token_type: "Bearer", expires_in: 420, device_uuid: login.device_uuid },
    });
    const bearer = refreshed.body.access_token as string;
    const { body: list } = await second.call("GET", "/api/auth/sessions", { token: bearer });
    expect((list.data as { current: boolean }[]).filter((session) => session.current)).toHaveLength(1);
    expect(Object.keys(list.data[0]).sort()).toEqual([
      "created_at",
      "current",
      "device_uuid",
      "ip_address",
      "last_seen_at",
      "session_id",
      "user_agent",
    ]);
    expect((await post("/api/auth/logout", undefined, bearer)).status).toBe(204);
    for (const instance of [app, second]) {
      for (const dead of [bearer, login.access_token])
        expect((await instance.call("GET", "/api/auth/me", { token: dead as string })).status).toBe(401);
    }
    expect((await post("/api/auth/refresh", { refresh_token: refreshed.body.refresh_token })).status).toBe(401);
  });

  it("no revoked session is accepted by the other instance, over many revocations", async () => {
    let leaks = 0;
    for (let round = 0; round < 25; round++) {
      const bearer = await (round % 2 === 0 ? app : second).login();
      await second.call("GET", "/api/auth/me", { token: bearer });
      await app.call("POST", "/api/auth/logout", { token: bearer });
      if ((await second.call("GET", "/api/auth/me", { token: bearer })).status !== 401) leaks++;
      if ((await app.call("GET", "/api/auth/me", { token: bearer })).status !== 401) leaks++;
    }
    expect(leaks).toBe(0);
  });

  it("refresh returns 400 without a refresh token", async () => {
    expect((await post("/api/auth/refresh", {})).body).toMatchObject({ status: 400, code: "validation_error" });
    expect((await post("/api/auth/refresh", { refresh_token: "x" })).body).toMatchObject({
      status: 401,
      code: "unauthorized",
    });
  });
});

describe("GET /api/auth/events", () => {
  it("the list of events has every filter and refuses bad values", async () => {
    const list = (query: string) => app.call("GET", `/api/auth/events${query}`, { token });
    const { body } = await list("?type=login.password&outcome=success&limit=1");
    expect(body).toMatchObject({ limit: 1, offset: 0, data: [{ type: "login.password", outcome: "success" }] });
    expect(Object.keys(body.data[0]).sort()).toEqual([
      "created_at",
      "event_id",
      "ip_address",
      "metadata",
      "org_uuid",
      "outcome",
      "type",
      "user_agent",
      "user_uuid",
    ]);
    expect((await app.call("GET", `/api/auth/events/${body.data[0].event_id}`, { token })).body).toEqual(body.data[0]);
    expect((await list("?type=nope")).body.code).toBe("invalid_type");
    expect((await list("?from=nope")).body.code).toBe("invalid_date_range");
    expect((await list("?limit=501")).body.code).toBe("validation_error");
    expect((await list("?org_uuid=0b1d2a3e-aaaa-4000-8000-00000000000f")).body.code).toBe("not_found");
  });
});
