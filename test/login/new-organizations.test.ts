import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome, password } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  token = await app.login();
});
afterAll(() => app.close());

const post = (path: string, body: unknown, bearer?: string) => app.call("POST", path, { body, token: bearer });

describe("organizations", () => {
  it("a sign-up creates an organization, whose name is never available again", async () => {
    const free = await app.call("GET", "/api/auth/orgs/check?name=Globex");
    expect(free.body).toEqual({ data: { name: "Globex", available: true } });
    const made = await post("/api/organizations", {
      name: "Globex",
      email: "g@globex.test",
      password: "a long enough one",
      first_name: "Gus",
    });
    expect(made).toMatchObject({ status: 201, body: { name: "Globex", token_type: "Bearer", expires_in: 420 } });
    expect((await app.call("GET", "/api/auth/orgs/check?name=GLOBEX")).body.data.available).toBe(false);
    expect(
      (
        await post("/api/organizations", {
          name: "globex",
          email: "h@globex.test",
          password: "a long enough one",
          first_name: "Ann",
        })
      ).body,
    ).toMatchObject({ status: 409, code: "conflict" });
    expect(
      (
        await post("/api/organizations", {
          name: "Globex 2",
          email: "G@globex.test",
          password: "a long enough one",
          first_name: "Ann",
        })
      ).body,
    ).toMatchObject({ status: 409, code: "email_taken" });
    const { body } = await app.call("GET", `/api/organizations/${made.body.org_uuid}`, {
      token: made.body.access_token,
    });
    expect(body).toMatchObject({
      org_uuid: made.body.org_uuid,
      name: "Globex",
      plan: "free",
      entitlements: ["marketplace"],
      jit_domains: [],
      sandbox: false,
    });
    expect((await app.call("GET", `/api/organizations/${made.body.org_uuid}`, { token })).body).toMatchObject({
      status: 404,
      code: "not_found",
    });
  });

  it("a sign-up refuses a blank given name, and stores names without spaces around them", async () => {
    const wish = { name: "Blank", email: "b@blank.test", password: "a long enough one" };
    const refused = await post("/api/organizations", { ...wish, first_name: " \u00a0 " });
    expect(refused.body).toMatchObject({ status: 400, code: "validation_error", errors: [{ field: "first_name" }] });
    const { body } = await post("/api/organizations", { ...wish, first_name: " Bo ", last_name: "  " });
    expect((await app.call("GET", "/api/profile", { token: body.access_token })).body).toMatchObject({
      first_name: "Bo",
      last_name: "",
    });
  });

  it("a signed-in person creates an organization without a password", async () => {
    const made = await post("/api/organizations", { name: "Second of Acme" }, token);
    expect(made.status).toBe(201);
    const { body } = await app.call("GET", "/api/organizations", { token });
    expect((body.data as { name: string }[]).map(({ name }) => name)).toEqual(["Acme", "Second of Acme"]);
    expect(body).toMatchObject({ total: 2, limit: 50, offset: 0 });
  });

  it("a token that is no longer valid is refused as such, not as a sign-up without address", async () => {
    const { token: ended } = await founder(app);
    await app.call("POST", "/api/auth/logout", { token: ended });
    const create = (body: object) => post("/api/organizations", body, ended);
    const refused = await create({ name: "Further" });
    expect(outcome(refused)).toBe("401 unauthorized");
    expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer/u);
    const person = { email: "late@sign-up.test", password, first_name: "Lee" };
    expect(outcome(await create({ name: "Further", ...person }))).toBe("201");
  });

  it("a token is signed by a key of its organization, and one without organization by the instance's", async () => {
    const who = await founder(app);
    const keysAt = async (path: string) => createLocalJWKSet((await app.call("GET", path)).body as JSONWebKeySet);
    const instance = await keysAt("/.well-known/jwks.json");
    const organization = await keysAt(`/api/organizations/${who.org}/.well-known/jwks.json`);
    await runSql(app.databaseUrl, "update memberships set status = 'removed' where user_uuid = $1", [who.userUuid]);
    const { body } = await post("/api/auth/login", { email: who.email, password });
    const check = { typ: "at+jwt", issuer: "http://atrium.test", currentDate: new Date(app.clock.now()) };
    for (const [signed, key, other] of [
      [body.access_token as string, instance, organization],
      [who.token, organization, instance],
    ] as const) {
      expect((await jwtVerify(signed, key, check)).payload.sub).toBe(who.userUuid);
      await expect(jwtVerify(signed, other, check)).rejects.toThrow(/no applicable key/u);
    }
  });

  it("an organization publishes its keys", async () => {
    const { body: me } = await app.call("GET", "/api/auth/me", { token });
    const answer = await app.call("GET", `/api/organizations/${me.org_uuid}/.well-known/jwks.json`);
    expect(answer.body.keys).toMatchObject([{ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig" }]);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(answer.headers.get("etag")).toMatch(/^"/u);
    expect((await app.call("GET", "/.well-known/jwks.json")).body.keys).toHaveLength(1);
    expect(
      (await app.call("GET", "/api/organizations/0b1d2a3e-aaaa-4000-8000-00000000000f/.well-known/jwks.json")).status,
    ).toBe(404);
  });
});
