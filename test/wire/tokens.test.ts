import { createHmac, generateKeyPairSync, randomUUID } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT, UnsecuredJWT, exportSPKI } from "jose";
import type { JWK, JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { signUp } from "../support/market.ts";

let app: TestApp;
let token: string;
let claims: JWTPayload;
let kid: string;
let publicKey: JWK;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  claims = decodeJwt(token);
  kid = decodeProtectedHeader(token).kid ?? "";
  const { body } = await app.call("GET", `/api/organizations/${String(claims["org"])}/.well-known/jwks.json`);
  publicKey = (body.keys as JWK[]).find((key) => key.kid === kid) as JWK;
});
afterAll(() => app.close());

const parts = (): string[] => token.split(".");
const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const stranger = generateKeyPairSync("ed25519");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const signed = (
  changes: JWTPayload = {},
  head: Record<string, unknown> = {},
  key = stranger.privateKey,
  alg = "EdDSA",
): Promise<string> =>
  new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg, typ: "at+jwt", kid, ...head }).sign(key);

/** HS256 with the public key as the secret, in every form that a careless library may accept. */
async function confused(secret: Buffer): Promise<string> {
  const head = encode({ alg: "HS256", typ: "at+jwt", kid });
  const body = `${head}.${encode(claims)}`;
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
}

const forgeries: [string, () => Promise<string> | string][] = [
  ["with alg none", () => new UnsecuredJWT(claims).encode()],
  ["with alg none and our kid", () => `${encode({ alg: "none", typ: "at+jwt", kid })}.${encode(claims)}.`],
  [
    "with alg None and our signature",
    () => `${encode({ alg: "None", typ: "at+jwt", kid })}.${parts()[1]}.${parts()[2]}`,
  ],
  [
    "with HS256 keyed by the PEM",
    async () =>
      confused(
        Buffer.from(await exportSPKI((await importJWK(publicKey, "EdDSA")) as Parameters<typeof exportSPKI>[0])),
      ),
  ],
  ["with HS256 keyed by the JWK", () => confused(Buffer.from(JSON.stringify(publicKey)))],
  ["with HS256 keyed by the raw key", () => confused(Buffer.from(publicKey.x ?? "", "base64url"))],
  ["signed by a stranger's key under our kid", () => signed()],
  ["signed by a stranger's RSA key under our kid", () => signed({}, {}, rsa.privateKey, "RS256")],
  ["that brings its own key", () => signed({}, { jwk: stranger.publicKey.export({ format: "jwk" }) })],
  ["that points to its own keys", () => signed({}, { jku: "http://127.0.0.1:9/keys", x5u: "http://127.0.0.1:9/cert" })],
  ["with an unknown kid", () => signed({}, { kid: "nope" })],
  ["with a kid that is a path", () => signed({}, { kid: "../../../dev/null" })],
  ["with a kid that is SQL", () => signed({}, { kid: "' or 1=1 --" })],
  ["with a NUL in the kid", () => signed({}, { kid: "\0" })],
  ["with our kid and a NUL", () => signed({}, { kid: `${kid}\0` })],
  ["with half a surrogate pair in the kid", () => signed({}, { kid: "\ud800" })],
  ["with a kid of 4,000 characters", () => signed({}, { kid: "k".repeat(4_000) })],
  ["with a NUL in every claim", () => signed({ org: "\0", sub: "\0", jti: "\0", sid: "\0" })],
  ["without a kid", () => signed({}, { kid: undefined })],
  [
    "with claims that were changed",
    () => `${parts()[0]}.${encode({ ...claims, platform_admin: true, org: randomUUID() })}.${parts()[2]}`,
  ],
  ["with a header that was changed", () => `${encode({ alg: "EdDSA", typ: "JWT", kid })}.${parts()[1]}.${parts()[2]}`],
  ["with a signature that was cut", () => token.slice(0, -4)],
  ["with a signature that was padded", () => `${token}==`],
  ["without a signature", () => `${parts()[0]}.${parts()[1]}.`],
  ["of two parts", () => `${parts()[0]}.${parts()[1]}`],
  ["of four parts", () => `${token}.x`],
  ["of dots", () => "..".repeat(3)],
  ["that is no JSON", () => `${encode("{")}.${encode("{")}.${parts()[2]}`],
  ["whose claims are an array", () => `${parts()[0]}.${encode([])}.${parts()[2]}`],
  ["that is encrypted", () => `${encode({ alg: "dir", enc: "A256GCM" })}..aaaa.bbbb.cccc`],
  ["of 12 KiB", () => `${parts()[0]}.${"A".repeat(12_000)}.${parts()[2]}`],
  ["with 'crit'", () => signed({}, { crit: ["b64"], b64: true })],
];

describe("Tokens", () => {
  it("an unchanged token of ours is accepted", async () => {
    expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(200);
  });

  it.each(forgeries)("a token %s returns 401 on every protocol", async (_what, forge) => {
    const forged = await forge();
    const rest = await app.call("GET", "/api/auth/me", { token: forged });
    expect(rest).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(rest.headers.get("www-authenticate")).toMatch(/^Bearer/u);
    expect(rest.text).not.toContain(forged);
    expect(await app.call("POST", "/atrium.access.v1.AccessService/GetMe", { token: forged, body: {} })).toMatchObject({
      status: 401,
      body: { code: "unauthenticated" },
    });
  });

  it.each(["", "Basic eDp5", "Bearer", "Bearer ", "Token x", "Bearer a b", "bearer"])(
    "an Authorization of %j returns 401",
    async (authorization) => {
      expect((await app.call("GET", "/api/auth/me", { headers: { authorization } })).status).toBe(401);
    },
  );

  it("the scheme is case-insensitive, and only the header is read", async () => {
    expect((await app.call("GET", "/api/auth/me", { headers: { authorization: `bearer ${token}` } })).status).toBe(200);
    expect((await app.call("GET", `/api/auth/me?access_token=${token}`)).status).toBe(401);
    expect((await app.call("GET", "/api/auth/me", { headers: { cookie: `access_token=${token}` } })).status).toBe(401);
  });

  it("a token of another instance, with another issuer, returns 401", async () => {
    const other = await startApp();
    try {
      expect((await app.call("GET", "/api/auth/me", { token: await other.login() })).status).toBe(401);
    } finally {
      await other.close();
    }
  });

  it("a refresh token returns 401 as a bearer token", async () => {
    const { body } = await app.call("POST", "/api/auth/login", {
      body: { email: app.owner.email, password: app.owner.password, org_name: app.owner.org },
    });
    expect((await app.call("GET", "/api/auth/me", { token: body.refresh_token as string })).status).toBe(401);
  });

  it("a token of one organization gets the same 404 for another organization as for an unknown one", async () => {
    const theirs = await signUp(app);
    const routes = [`/api/organizations/${theirs.orgUuid}`, `/api/auth/events?org_uuid=${theirs.orgUuid}`];
    const mine = await signUp(app);
    for (const route of routes) {
      const foreign = await app.call("GET", route, { token: mine.token });
      const unknown = await app.call("GET", route.replace(theirs.orgUuid, randomUUID()), { token: mine.token });
      expect(foreign.status, route).toBe(404);
      expect({ ...foreign.body, instance: "", request_id: "" }).toEqual({
        ...unknown.body,
        instance: "",
        request_id: "",
      });
    }
  });

  it("a token expires to the second", async () => {
    const short = await app.login();
    app.clock.advance(899_000);
    expect((await app.call("GET", "/api/auth/me", { token: short })).status).toBe(200);
    app.clock.advance(1_001);
    expect((await app.call("GET", "/api/auth/me", { token: short })).status).toBe(401);
  });
});
