import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder } from "../support/people.ts";

let app: TestApp;
let token: string;
let org: string;
let base: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
  base = `/api/admin/organizations/${org}/signing-keys`;
});
afterAll(() => app.close());

const jwks = async () =>
  (await app.call("GET", `/api/organizations/${org}/.well-known/jwks.json`)).body as { keys: { kid: string }[] };
const kids = async () => (await jwks()).keys.map((key) => key.kid);
const activeKey = async () =>
  (await app.call("GET", base, { token })).body.data.find((key: { active: boolean }) => key.active).key_id as string;
const DAY = 86_400_000;

describe("signing keys", () => {
  test("a rotation has an overlap of 24 hours and is in the key set at every instant", async () => {
    expect(await app.call("POST", `${base}/rotate`, { token })).toMatchObject({
      status: 403,
      body: { code: "step_up_required" },
    });
    const before = await activeKey();
    const rotated = await app.call("POST", `${base}/rotate`, { token: await elevate(app, token) });
    expect(rotated).toMatchObject({ status: 200, body: { previous_key_id: before } });
    expect(Date.parse(rotated.body.previous_key_expires_at)).toBe(app.clock.now() + DAY);
    expect(await activeKey()).toBe(rotated.body.new_key_id);
    expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(200);
    expect(await app.call("POST", `${base}/rotate`, { token: await elevate(app, token) })).toMatchObject({
      status: 422,
      body: {
        code: "rotation_in_progress",
        message: expect.stringContaining(rotated.body.previous_key_expires_at) as unknown,
      },
    });
    app.clock.advance(DAY - 1);
    // Both were made in the same instant of the standing clock, so their order says nothing.
    expect(new Set(await kids())).toEqual(new Set([rotated.body.new_key_id, before]));
    app.clock.advance(1);
    expect(await kids()).toEqual([rotated.body.new_key_id]);
    token = await app.login();
    expect((await app.call("POST", `${base}/rotate`, { token: await elevate(app, token) })).status).toBe(200);
  });

  test("deleting a key invalidates everything it signed at once, and the active key cannot be deleted", async () => {
    const signedBefore = token;
    const made = await app.call("POST", base, { token, body: { algorithm: "ed25519", description: "second" } });
    expect(made).toMatchObject({ status: 201, body: { algorithm: "ed25519", active: true, description: "second" } });
    expect(made.body.public_key).toContain("BEGIN PUBLIC KEY");
    expect(await app.call("DELETE", `${base}/${made.body.key_id}`, { token })).toMatchObject({
      status: 409,
      body: { code: "active_key_exists" },
    });
    const fresh = await app.login();
    const previous = decodeProtectedHeader(signedBefore).kid ?? "";
    expect((await app.call("DELETE", `${base}/${previous}`, { token: fresh })).status).toBe(204);
    expect(await kids()).not.toContain(previous);
    expect((await app.call("GET", "/api/auth/me", { token: signedBefore })).status).toBe(401);
    expect(await app.call("DELETE", `${base}/${previous}`, { token: fresh })).toMatchObject({
      status: 404,
      body: { code: "key_not_found" },
    });
    token = fresh;
  });

  test("a key of another organization is 404 to its deletion and as the key of a signature", async () => {
    const stranger = await founder(app);
    const foreign = `/api/admin/organizations/${stranger.org}/signing-keys`;
    const { key_id: replaced } = (await app.call("GET", foreign, { token: stranger.token })).body.data[0];
    await app.call("POST", foreign, { token: stranger.token, body: { algorithm: "ed25519" } });
    const unknown = { status: 404, body: { code: "key_not_found" } };
    expect(await app.call("DELETE", `${base}/${replaced}`, { token })).toMatchObject(unknown);
    const body = { payload: {} };
    expect(await app.call("POST", `${base}/${replaced}/sign`, { token, body })).toMatchObject(unknown);
    expect((await app.call("GET", "/api/auth/me", { token: stranger.token })).status).toBe(200);
    expect((await app.call("DELETE", `${foreign}/${replaced}`, { token: stranger.token })).status).toBe(204);
  });

  test("signed claims verify with the key set and are no credential of the service", async () => {
    const kid = await activeKey();
    const signed = await app.call("POST", `${base}/${kid}/sign`, {
      token,
      body: { payload: { sub: "order-7", amount: 12 } },
    });
    expect(signed).toMatchObject({ status: 200, body: { key_id: kid, algorithm: "ed25519" } });
    const { payload, protectedHeader } = await jwtVerify(
      signed.body.token,
      createLocalJWKSet((await jwks()) as never),
      { currentDate: new Date(app.clock.now()) },
    );
    expect(payload).toMatchObject({ sub: "order-7", amount: 12, iss: "http://atrium.test", org });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900);
    expect(protectedHeader).toEqual({ alg: "EdDSA", kid, typ: "atrium-signed+jwt" });
    expect((await app.call("GET", "/api/auth/me", { token: signed.body.token })).status).toBe(401);
    const sign = (claims: object) => app.call("POST", `${base}/${kid}/sign`, { token, body: { payload: claims } });
    const reserved = "iss iat jti org sid scope roles entitlements app_admin platform_admin sandbox amr acr aud";
    for (const claim of reserved.split(" "))
      expect(await sign({ [claim]: "x" })).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: `payload.${claim}` }] },
      });
    const now = Math.floor(app.clock.now() / 1000);
    expect((await sign({ exp: now + 86_400 })).status).toBe(200);
    for (const exp of [now + 86_401, now, now - 1, now + 0.5, "soon"])
      expect(await sign({ exp })).toMatchObject({ status: 400, body: { errors: [{ field: "payload.exp" }] } });
    expect(await app.call("POST", `${base}/unknown/sign`, { token, body: { payload: {} } })).toMatchObject({
      status: 404,
      body: { code: "key_not_found" },
    });
  });

  test("integers that JSON numbers round are refused, wherever the payload has them", async () => {
    const sign = async (payload: object) =>
      app.call("POST", `${base}/${await activeKey()}/sign`, { token, body: { payload } });
    for (const [payload, field] of [
      [{ account: 2 ** 53 }, "payload.account"],
      [{ order: { items: [1, { id: -(2 ** 60) }] } }, "payload.order.items[1].id"],
    ] as const) {
      expect(await sign(payload)).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field, code: "range" }] },
      });
    }
    const exact = { largest: Number.MAX_SAFE_INTEGER, long: "12345678901234567890", share: 0.1 };
    const signed = await sign(exact);
    expect(signed.status).toBe(200);
    expect(decodeJwt(signed.body.token as string)).toMatchObject(exact);
  });

  test("an organization has at most ten keys, which are ed25519 or rsa4096", async () => {
    expect(await app.call("POST", base, { token, body: { algorithm: "hs256" } })).toMatchObject({
      status: 400,
      body: { code: "invalid_algorithm" },
    });
    expect((await app.call("POST", base, { token, body: { algorithm: "rsa4096" } })).body.algorithm).toBe("rsa4096");
    expect((await app.call("GET", "/api/auth/me", { token: await app.login() })).status).toBe(200);
    let last = await app.call("POST", base, { token, body: { algorithm: "ed25519" } });
    for (let made = 0; made < 10 && last.status === 201; made++)
      last = await app.call("POST", base, { token, body: { algorithm: "ed25519" } });
    expect(last).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(await kids()).toHaveLength(10);
  });

  test("twenty parallel requests rotate the key once", async () => {
    app.clock.advance(DAY);
    token = await app.login();
    const elevated = await elevate(app, token);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.call("POST", `${base}/rotate`, { token: elevated })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(19);
  });
});
