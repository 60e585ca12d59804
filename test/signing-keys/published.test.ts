import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";

let app: TestApp;
let org: string;
let base: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_TTL_KEY_OVERLAP: "60s" } });
  org = decodeJwt(await app.login())["org"] as string;
  base = `/api/admin/organizations/${org}/signing-keys`;
});
afterAll(() => app.close());

const MINUTE = 60_000;
/** Longest that a key stays after the last signature: a tenth of the lifetime of a payload. */
const LONGEST_MS = 26.5 * 60 * MINUTE;

const jwks = async () =>
  (await app.call("GET", `/api/organizations/${org}/.well-known/jwks.json`)).body as { keys: { kid: string }[] };
const kids = async () => (await jwks()).keys.map(({ kid }) => kid);
const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? "";
const rotate = async () => app.call("POST", `${base}/rotate`, { token: await elevate(app, await app.login()) });
const verifies = async (token: string): Promise<boolean> => {
  const currentDate = new Date(app.clock.now());
  return jwtVerify(token, createLocalJWKSet((await jwks()) as never), { currentDate }).then(
    () => true,
    () => false,
  );
};

describe("a replaced key stays in the key set", () => {
  test("a replaced key stays in the key set until the last access token it signed has expired, after its overlap too", async () => {
    const token = await app.login();
    const rotated = await rotate();
    expect(rotated).toMatchObject({ status: 200, body: { previous_key_id: kidOf(token) } });
    expect(Date.parse(rotated.body.previous_key_expires_at)).toBe(app.clock.now() + MINUTE);
    app.clock.advance(MINUTE);
    expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(401);
    app.clock.set((decodeJwt(token).exp ?? 0) * 1000 - 1);
    expect(await verifies(token)).toBe(true);
    app.clock.advance(15 * MINUTE * 0.1 + 1_000);
    expect(await kids()).toEqual([rotated.body.new_key_id]);
  });

  test("a replaced key stays in the key set until the last payload it signed has expired, without delaying the next rotation", async () => {
    const token = await app.login();
    const kid = kidOf(token);
    const exp = Math.floor(app.clock.now() / 1000) + 24 * 3600;
    const signed = await app.call("POST", `${base}/${kid}/sign`, { token, body: { payload: { sub: "order-7", exp } } });
    expect(signed.status).toBe(200);
    expect((await app.call("POST", base, { token, body: { algorithm: "ed25519" } })).status).toBe(201);
    app.clock.advance(20 * MINUTE);
    expect((await rotate()).status).toBe(200);
    app.clock.set(exp * 1000 - 1);
    expect(await verifies(signed.body.token as string)).toBe(true);
    app.clock.advance(LONGEST_MS - 24 * 60 * MINUTE);
    expect(await kids()).toHaveLength(1);
  });

  test("a deleted key leaves the key set, before and after its overlap", async () => {
    for (const wait of [0, 2 * MINUTE]) {
      const token = await app.login();
      const made = await app.call("POST", base, { token, body: { algorithm: "ed25519" } });
      app.clock.advance(wait);
      const fresh = await app.login();
      expect(await kids()).toContain(kidOf(token));
      expect(
        (await app.call("GET", base, { token: fresh })).body.data.map(({ key_id }: { key_id: string }) => key_id),
      ).toContain(kidOf(token));
      expect((await app.call("DELETE", `${base}/${kidOf(token)}`, { token: fresh })).status).toBe(204);
      expect(await kids()).toContain(made.body.key_id);
      expect(await kids()).not.toContain(kidOf(token));
      expect(await app.call("DELETE", `${base}/${kidOf(token)}`, { token: fresh })).toMatchObject({
        status: 404,
        body: { code: "key_not_found" },
      });
    }
  });

  test("a replaced key stays in the key set for tokens that were signed while it was replaced", async () => {
    const elevated = await elevate(app, await app.login());
    const logins = Array.from({ length: 20 }, () => app.login());
    const [switched, ...tokens] = await Promise.all([
      app.call("POST", `${base}/rotate`, { token: elevated }),
      ...logins,
    ]);
    expect(switched.status).toBe(200);
    app.clock.set(Math.min(...tokens.map((token) => decodeJwt(token).exp ?? 0)) * 1000 - 1);
    for (const token of tokens) expect(await verifies(token)).toBe(true);
  });
});
