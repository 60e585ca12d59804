import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { codeAt, wrongCode } from "./support.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1", SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const get = (path: string, token: string) => app.call("GET", path, { token });

let people = 0;

/** Somebody with an organization of their own. */
async function somebody() {
  people += 1;
  const who = { email: `wire${people}@mfa.test`, password: "a long enough one", name: `Wire ${people}` };
  const { status, body } = await post("/api/organizations", { ...who, first_name: "Ann" });
  expect(status).toBe(201);
  return { ...who, token: body.access_token as string, org: body.org_uuid as string };
}

/** Somebody with an active factor. */
async function enrolled() {
  const who = await somebody();
  const { body } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, who.token);
  const { id, secret } = body.data as { id: number; secret: string };
  const { status } = await post(
    `/api/v1/me/mfa/factors/${id}/verify`,
    { code: codeAt(secret, app.clock.now()) },
    who.token,
  );
  expect(status).toBe(200);
  const fresh = (): string => {
    app.clock.advance(30_000);
    return codeAt(secret, app.clock.now());
  };
  const login = () => post("/api/auth/login", { email: who.email, password: who.password, org_name: who.name });
  return { ...who, id, secret, fresh, login };
}

/** The code of an error response, whose shape must be the documented one. */
function refused({ status, body }: { status: number; body: { code: string; status: number } }): string {
  expect(body.status).toBe(status);
  return `${status} ${body.code}`;
}

describe("the routes of factors", () => {
  it("the routes of factors return what the interface names, and show a secret once", async () => {
    const { token } = await somebody();
    const made = await app.call("POST", "/api/v1/me/mfa/factors", {
      body: { factor_type: "totp", label: "phone" },
      token,
    });
    expect(made.status).toBe(201);
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(made.body.data).sort()).toEqual([
      "created_at",
      "factor_type",
      "id",
      "label",
      "otpauth_uri",
      "secret",
      "status",
      "user_id",
    ]);
    expect(made.body.data).toMatchObject({ factor_type: "totp", label: "phone", status: "pending" });
    const { id, secret } = made.body.data;
    expect((await get("/api/v1/me/mfa/factors", token)).body).toEqual({
      data: [{ id, factor_type: "totp", label: "phone", status: "pending" }],
    });
    const verified = await post(
      `/api/v1/me/mfa/factors/${id}/verify`,
      { code: codeAt(secret, app.clock.now()) },
      token,
    );
    expect(verified.body).toEqual({
      data: {
        id,
        factor_type: "totp",
        status: "active",
        activated_at: expect.stringMatching(/^\d{4}-.*Z$/u) as string,
      },
    });
    for (const path of ["/api/auth/mfa/status", "/api/v1/me/mfa/status"]) {
      expect((await get(path, token)).body).toEqual({ has_active_totp: true, has_recovery_codes: false });
    }
    const { status, body, headers } = await app.call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", { token });
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body.data.codes).toHaveLength(10);
    const listed = await get("/api/v1/me/mfa/recovery-codes", token);
    expect(listed.body.data).toHaveLength(10);
    expect(listed.body.data[0]).toEqual({
      id: expect.any(Number) as number,
      used_at: null,
      created_at: expect.any(String) as string,
    });
    expect((await app.call("DELETE", `/api/v1/me/mfa/factors/${id}`, { token })).status).toBe(204);
    expect((await get("/api/v1/me/mfa/factors", token)).body).toEqual({ data: [] });
    expect((await get("/api/v1/me/mfa/recovery-codes", token)).body).toEqual({ data: [] });
  });

  it("every error has the status and code of the table", async () => {
    const { token } = await somebody();
    expect(refused(await post("/api/v1/me/mfa/factors", {}, token))).toBe("400 bad_request");
    expect(refused(await post("/api/v1/me/mfa/factors", { factor_type: "sms" }, token))).toBe("400 bad_request");
    expect(refused(await post("/api/v1/me/mfa/factors/1/verify", {}, token))).toBe("400 bad_request");
    expect(refused(await post("/api/v1/me/mfa/factors/x/verify", { code: "123456" }, token))).toBe(
      "400 validation_error",
    );
    expect(refused(await post("/api/v1/me/mfa/factors/4000000000/verify", { code: "123456" }, token))).toBe(
      "404 not_found",
    );
    expect(refused(await app.call("DELETE", "/api/v1/me/mfa/factors/4000000000", { token }))).toBe("404 not_found");
    expect(refused(await post("/api/v1/me/mfa/recovery-codes/regenerate", {}, token))).toBe("409 conflict");
    expect(refused(await app.call("GET", "/api/v1/me/mfa/factors"))).toBe("401 unauthorized");
    const { body } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, token);
    expect(
      refused(
        await post(
          `/api/v1/me/mfa/factors/${body.data.id}/verify`,
          { code: wrongCode(body.data.secret, app.clock.now()) },
          token,
        ),
      ),
    ).toBe("401 unauthorized");
  });

  it("a person without organization can use the routes of factors", async () => {
    const { body: sent } = await post("/api/auth/magic-link/send", { email: "free@mfa.test" });
    const { body: free } = await post("/api/auth/magic-link/verify", { token: sent.dev_token });
    expect((await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, free.access_token)).status).toBe(201);
    expect(refused(await post("/api/auth/step-up/challenge", { method: "password" }, free.access_token))).toBe(
      "403 forbidden",
    );
  });

  it("a proof that is too old returns the challenge of RFC 9470", async () => {
    const { fresh, login } = await enrolled();
    const { body: first } = await login();
    const { body: pair } = await post("/api/auth/mfa/totp/challenge", { mfa_token: first.mfa_token, code: fresh() });
    app.clock.advance(300_000);
    const { body: renewed } = await post("/api/auth/refresh", { refresh_token: pair.refresh_token });
    expect((await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, renewed.access_token)).status).toBe(201);
    app.clock.advance(400_000);
    const { body: again } = await post("/api/auth/refresh", { refresh_token: renewed.refresh_token });
    app.clock.advance(200_001);
    const answer = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, again.access_token);
    expect(refused(answer)).toBe("403 step_up_required");
    // A session without organization cannot step up.
    expect(answer.body.message).toContain("or sign in again");
    expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_user_authentication"');
    expect(answer.headers.get("www-authenticate")).toContain("max_age=900");
  });

  it("the proof is required before the body or an Idempotency-Key is read", async () => {
    const { token, id, password } = await enrolled();
    const regenerate = (bearer: string) =>
      app.call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", {
        token: bearer,
        headers: { "idempotency-key": "codes" },
      });
    const { body: codes } = await regenerate(token);
    app.clock.advance(400_000);
    const { body: challenge } = await post("/api/auth/step-up/challenge", { method: "password" }, token);
    const { body: elevated } = await post(
      "/api/auth/step-up/verify",
      { challenge_id: challenge.challenge_id, password },
      token,
    );
    const old = elevated.elevated_token as string;
    expect((await regenerate(old)).body).toEqual(codes);
    app.clock.advance(500_001);
    expect(refused(await regenerate(old))).toBe("403 step_up_required");
    for (const body of [{}, { factor_type: 7 }, "{"])
      expect(refused(await post("/api/v1/me/mfa/factors", body, old))).toBe("403 step_up_required");
    expect(refused(await post(`/api/v1/me/mfa/factors/${id}/verify`, {}, old))).toBe("403 step_up_required");
    expect(refused(await app.call("DELETE", "/api/v1/me/mfa/factors/x", { token: old }))).toBe("400 validation_error");
    const overConnect = await post("/atrium.mfa.v1.MfaService/CreateFactor", "{", old);
    expect([overConnect.status, overConnect.body.code]).toEqual([403, "permission_denied"]);
  });
});

describe("POST /api/auth/mfa/totp/challenge", () => {
  it("the challenge completes a login that asked for the factor", async () => {
    const { fresh, login } = await enrolled();
    const first = await login();
    expect(first.status).toBe(200);
    expect(Object.keys(first.body).sort()).toEqual(["mfa_required", "mfa_token"]);
    const body = { mfa_token: first.body.mfa_token, code: fresh() };
    const pair = await app.call("POST", "/api/auth/mfa/totp/challenge", { body, token: "not.looked.at" });
    expect(Object.keys(pair.body).sort()).toEqual([
      "access_token",
      "device_uuid",
      "expires_in",
      "refresh_token",
      "token_type",
    ]);
    expect(pair.body).toMatchObject({ token_type: "Bearer", expires_in: 420 });
    expect(pair.headers.get("cache-control")).toBe("no-store");
    expect((await get("/api/auth/me", pair.body.access_token)).status).toBe(200);
  });

  it("names every fault as the table does", async () => {
    const { secret, login } = await enrolled();
    const path = "/api/auth/mfa/totp/challenge";
    const { mfa_token } = (await login()).body;
    for (const body of [{}, { mfa_token }, { code: "123456" }, { mfa_token, code: "" }])
      expect(refused(await post(path, body))).toBe("400 bad_request");
    const unknown = await post(path, { mfa_token: "x", code: "123456" });
    expect(refused(unknown)).toBe("401 unauthorized");
    const wrong = { mfa_token, code: wrongCode(secret, app.clock.now()) };
    for (let at = 0; at < 5; at++) expect(refused(await post(path, wrong))).toBe("401 unauthorized");
    const { body: another } = await login();
    const recovery = await post(path, { mfa_token: another.mfa_token, code: "used-up", recovery: true });
    expect(refused(recovery)).toBe("401 unauthorized");
    expect(recovery.body.message).toBe("The recovery code is wrong, used or replaced; take another one.");
    expect({ ...(await post(path, wrong)).body, request_id: "" }).toEqual({ ...unknown.body, request_id: "" });
    const { body: next } = await login();
    for (let at = 0; at < 4; at++)
      expect(refused(await post(path, { ...wrong, mfa_token: next.mfa_token }))).toBe("401 unauthorized");
    const { body: last } = await login();
    const blocked = await second.call("POST", path, {
      body: { mfa_token: last.mfa_token, code: codeAt(secret, app.clock.now()) },
    });
    expect(refused(blocked)).toBe("429 too_many_attempts");
    expect(blocked.headers.get("retry-after")).toBe("2");
  });
});
