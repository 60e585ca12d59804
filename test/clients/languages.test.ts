import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JWTPayload } from "jose";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyWebhook } from "../../src/clients/typescript/webhooks/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { randomFrom } from "../support/random-of.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import type { Fault } from "./fault.ts";

const ISSUER = "http://atrium.test";
const ORG = "7d9f6c0e-5a43-4b6e-9d37-5b8c9c0f1a2b";
const INSTALL = "0b0f6c0e-5a43-4b6e-9d37-5b8c9c0f1a2b";
const [secret, older] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)];
const seconds = (): number => Math.floor(Date.now() / 1_000);

let app: TestApp;
let orgUuid: string;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
  token = await app.login();
  orgUuid = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
  for (let nth = 0; nth < 7; nth++) {
    const body = { email: `p${nth}@acme.test`, role_id: 3 };
    const made = await app.call("POST", `/api/admin/organizations/${orgUuid}/invitations`, { token, body });
    expect(made.status).toBe(201);
  }
});
afterAll(() => app.close());

/** A delivery, signed by the code that signs those of the service. */
function delivery(event: object, options: { secrets?: string[]; ageSeconds?: number; id?: string } = {}) {
  const { secrets = [secret], ageSeconds = 0, id = "evt_1" } = options;
  const body = JSON.stringify(event);
  return { body, headers: { ...signDelivery({ id, timestamp: seconds() - ageSeconds, body, secrets }) } };
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<[string, Server]> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server];
}

/** An issuer of our own that publishes one key. */
async function issuer() {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "EdDSA" };
  const requests: string[] = [];
  const publish = { body: JSON.stringify({ keys: [jwk] }), status: 200, headers: {}, slow: false };
  const [url, server] = await listen((request, response) => {
    requests.push(request.url ?? "");
    if (publish.slow) {
      // The beginning of a key set, and nothing more.
      response.writeHead(200).write('{"keys":[');
      return;
    }
    response.writeHead(publish.status, { "cache-control": "max-age=300", ...publish.headers }).end(publish.body);
  });
  const sign = (claims: JWTPayload = {}, header: { typ?: string; kid?: string } = {}) =>
    new SignJWT({ iss: ISSUER, sub: ORG, org: ORG, aud: "Acme", jti: "1", ...claims })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: "k1", ...header })
      .setIssuedAt(claims.iat)
      .setExpirationTime(claims.exp ?? "5m")
      .sign(privateKey);
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { sign, requests, publish, jwk, url, close };
}

for (const language of languages()) {
  describe.skipIf(language.missing !== undefined)(`the client in ${language.name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await language.start();
    });
    afterAll(() => driver.stop());
    const own = () => ({ url: app.url, token });

    /** Runs an operation behind a proxy with this fault for the first request. */
    async function behind(fault: Fault, op: string, args: object) {
      const proxy = await startFaultProxy(
        app.url,
        randomFrom(() => 0),
      );
      let count = 0;
      proxy.next = () => (count++ === 0 ? fault : "none");
      const outcome = await driver.run(op, { ...args, url: proxy.url, token }).catch((error: unknown) => error);
      await proxy.close();
      return { outcome, count };
    }

    it("logs in, and calls with the token", async () => {
      const { email, password, org } = app.owner;
      const signedIn = await driver.run("login", { url: app.url, email, password, org_name: org });
      expect(await driver.run("me", { url: app.url, token: signedIn.token })).toMatchObject({
        email,
        org_uuid: orgUuid,
      });
      expect(await driver.run("list_users", own())).toEqual({ emails: [email] });
    });

    it("reports the code, status, violations and request id of the service", async () => {
      expect(await driver.fail("list_users", { ...own(), limit: 1_000 })).toMatchObject({
        kind: "call",
        error_code: "validation_error",
        status: 400,
        violations: ["limit"],
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      });
      expect(await driver.fail("me", { url: app.url })).toMatchObject({ error_code: "unauthorized", status: 401 });
      expect(await driver.fail("me", { url: "http://127.0.0.1:1", token, retries: 0 })).toMatchObject({
        error_code: "unavailable",
        status: 0,
      });
    });

    it("reads every item of a list once", async () => {
      const { ids } = await driver.run("invitations", { ...own(), org_uuid: orgUuid, limit: 3 });
      expect([ids.length, new Set(ids).size]).toEqual([7, 7]);
    });

    it.each(["drop-answer", "truncate", "503"] as const)("creates a key once after the fault %s", async (fault) => {
      const name = `${language.name}-${fault}`;
      const { outcome, count } = await behind(fault, "create_key", { org_uuid: orgUuid, name });
      expect(count).toBe(2);
      const path = `/api/admin/organizations/${orgUuid}/api-keys?limit=100`;
      const keys: { name: string; key_id: string }[] = (await app.call("GET", path, { token })).body.data;
      expect(keys.filter((key) => key.name === name).map((key) => key.key_id)).toEqual([outcome.key_id]);
      expect(await driver.run("me", { url: app.url, token: outcome.secret })).toMatchObject({ principal: "api_key" });
    });

    it("repeats what changes nothing, and sends what may not be repeated once", async () => {
      expect(await behind("drop-answer", "list_users", {})).toMatchObject({
        count: 2,
        outcome: { emails: [app.owner.email] },
      });
      const { outcome, count } = await behind("drop-request", "update_profile", {});
      expect([count, outcome.failure]).toEqual([
        1,
        expect.objectContaining({ kind: "call", error_code: "unavailable" }),
      ]);
    });

    it("verifies a token of the service, offline until it expires and online while its session lasts", async () => {
      const mine = await app.login();
      const verifier = { issuer: ISSUER, base_url: app.url };
      const caller = { org_name: "Acme", roles: ["admin"], platform_admin: true, elevated: false };
      expect(await driver.run("verify", { ...verifier, token: mine })).toMatchObject(caller);
      expect(await driver.run("verify", { ...verifier, introspect: true, token: mine })).toMatchObject(caller);
      await app.call("POST", "/api/auth/logout", { token: mine });
      expect(await driver.run("verify", { ...verifier, token: mine })).toMatchObject(caller);
      expect(await driver.fail("verify", { ...verifier, introspect: true, token: mine })).toMatchObject({
        kind: "token",
        status: 401,
      });
    });

    it.each([
      ["a foreign issuer", { iss: "http://evil.test" }, {}],
      ["an organization that is a path", { org: "../x" }, {}],
      ["an organization in upper case", { org: ORG.toUpperCase() }, {}],
      ["no organization", { org: "" }, {}],
      ["another type", {}, { typ: "JWT" }],
      ["an expired token", { iat: 1_000, exp: 1_300 }, {}],
      ["a token from the future", { iat: seconds() + 3_600, exp: seconds() + 7_200 }, {}],
      ["an unknown key", {}, { kid: "k2" }],
    ])("refuses %s, and fetches keys from the issuer alone", async (name, claims, header) => {
      const { sign, requests, url, close } = await issuer();
      const job = { key: name, issuer: ISSUER, base_url: url, token: await sign(claims, header) };
      expect(await driver.fail("verify", job)).toMatchObject({ kind: "token", status: 401 });
      expect(requests.filter((path) => path !== `/api/organizations/${ORG}/.well-known/jwks.json`)).toEqual([]);
      close();
    });

    it("refuses what is no signed token, without a request", async () => {
      const { requests, url, close } = await issuer();
      const none = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")}.e30.`;
      for (const bad of ["", "x", "a.b.c", none])
        expect(await driver.fail("verify", { key: "bad", issuer: ISSUER, base_url: url, token: bad })).toMatchObject({
          kind: "token",
          status: 401,
        });
      expect(requests).toEqual([]);
      close();
    });

    it("asks twice at most about a thousand unknown keys", async () => {
      const { sign, requests, url, close } = await issuer();
      const refused = await Promise.all(Array.from({ length: 1_000 }, (_, nth) => sign({}, { kid: `x${nth}` })));
      const job = { key: "flood", issuer: ISSUER, base_url: url, refused, token: await sign() };
      expect(await driver.run("verify", job)).toMatchObject({ refused: 1_000 });
      expect(requests.length).toBeLessThanOrEqual(2);
      close();
    });

    it.each([
      ["larger than a key set can be", 200, JSON.stringify({ keys: [], filler: "x".repeat(1_000_000) })],
      ["not JSON", 200, "<html>"],
      ["not a key set", 200, "{}"],
      ["a redirect", 302, ""],
    ])("reports 503 when the key set is %s", async (name, status, body) => {
      const { sign, publish, requests, url, close } = await issuer();
      Object.assign(publish, { status, body, headers: status === 302 ? { location: "/elsewhere" } : {} });
      const job = { key: name, issuer: ISSUER, base_url: url, token: await sign() };
      expect(await driver.fail("verify", job)).toMatchObject({ kind: "token", status: 503 });
      expect(requests).not.toContain("/elsewhere");
      close();
    });

    it("reports 503 when the key set never comes whole, and asks once", async () => {
      const { sign, publish, requests, url, close } = await issuer();
      publish.slow = true;
      const job = { key: "slow", issuer: ISSUER, base_url: url, token: await sign() };
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => driver.fail("verify", job)));
      expect(outcomes).toMatchObject(Array(5).fill({ kind: "token", status: 503 }));
      expect(requests).toHaveLength(1);
      close();
    });

    it("accepts no token of a key that the key set says wrongly, and goes on with the others", async () => {
      const { sign, publish, jwk, url, close } = await issuer();
      const other = await exportJWK((await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true })).publicKey);
      const shared = Buffer.from(JSON.stringify(jwk)).toString("base64url");
      const keys = [
        { ...other, kid: "other", alg: "EdDSA" },
        { ...jwk, kid: "es256", alg: "ES256" },
        { ...jwk, kid: "none", alg: "none" },
        { ...jwk, kid: "nameless", alg: undefined },
        { kty: "oct", k: shared, kid: "oct", alg: "HS256" },
        { ...jwk, kid: "short", x: "AAAA" },
        { ...jwk, kid: 7 },
        null,
        "key",
        jwk,
      ];
      publish.body = JSON.stringify({ keys });
      const job = { key: "lying", issuer: ISSUER, base_url: url };
      for (const kid of ["other", "es256", "none", "nameless", "oct", "short"])
        expect(await driver.fail("verify", { ...job, token: await sign({}, { kid }) })).toMatchObject({
          kind: "token",
          status: 401,
        });
      const symmetric = await new SignJWT({ iss: ISSUER, sub: ORG, org: ORG, jti: "1" })
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "oct" })
        .setIssuedAt()
        .setExpirationTime("5m")
        .sign(Buffer.from(shared, "base64url"));
      expect(await driver.fail("verify", { ...job, token: symmetric })).toMatchObject({ kind: "token", status: 401 });
      expect(await driver.run("verify", { ...job, token: await sign() })).toMatchObject({ org_name: "Acme" });
      close();
    });

    it("names the clock to who has a token from the future", async () => {
      const { sign, url, close } = await issuer();
      const token = await sign({ iat: seconds() + 3_600, exp: seconds() + 7_200 });
      const failure = await driver.fail("verify", { key: "clock", issuer: ISSUER, base_url: url, token });
      expect(failure.message).toMatch(/3[56]\d\d seconds.*clock/u);
      close();
    });

    it("takes deliveries of both secrets, and refuses what is old, changed or signed by others", async () => {
      const event = { type: "webhook.test", timestamp: "2026-01-01T00:00:00Z", id: "evt_1", org_uuid: "o", data: {} };
      for (const secrets of [[secret], [older]])
        expect(await driver.run("webhook", { secrets: [secret, older], ...delivery(event, { secrets }) })).toEqual(
          event,
        );
      const refused = [
        delivery(event, { secrets: [older] }),
        delivery(event, { ageSeconds: 301 }),
        // Ahead by a minute more than is allowed, which a slow machine does not use up.
        delivery(event, { ageSeconds: -360 }),
        { ...delivery(event), body: JSON.stringify({ ...event, id: "evt_2" }) },
        { ...delivery(event), headers: {} },
        { ...delivery(event), headers: { ...delivery(event).headers, "webhook-signature": "v1" } },
      ];
      for (const received of refused)
        expect(await driver.fail("webhook", { secrets: [secret], ...received })).toEqual({
          kind: "webhook",
          status: 401,
        });
    });

    it.each([
      ["active", 200, { endpoint_url: "https://app.test" }],
      ["accepted", 202, undefined],
      ["refused", 422, { message: "No room." }],
    ])(
      "responds as a publisher that answers %s, once for a message that comes twice",
      async (outcome, status, body) => {
        const event = { type: "install.provisioning", data: { install_id: INSTALL } };
        const job = { key: outcome, secrets: [secret], url: app.url, outcome };
        const { answers, handled } = await driver.run("publish", { ...job, ...delivery(event, { id: "msg_1" }) });
        expect(handled).toBe(1);
        for (const [code, sent] of answers)
          expect([code, sent === "" ? undefined : JSON.parse(sent)]).toEqual([status, body]);
        const unsigned = await driver.run("publish", { ...job, ...delivery(event, { secrets: [older] }) });
        expect(unsigned.answers.map(([code]: [number]) => code)).toEqual([401, 401]);
        const later = await driver.run("publish", {
          ...job,
          ...delivery({ ...event, type: "install.moved" }, { id: "msg_2" }),
        });
        expect(later.answers.map(([code]: [number]) => code)).toEqual([200, 200]);
      },
    );

    it("reports the outcome of an install until the service takes it, and the code of a refusal", async () => {
      const outcomes = [503, 500, 200, 409];
      const received: { url: string; body: string; headers: Headers }[] = [];
      const [url, server] = await listen((request, response) => {
        void text(request).then((body) => {
          const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
          received.push({ url: request.url ?? "", body, headers });
          const status = outcomes.shift() ?? 500;
          response.writeHead(status, { "content-type": "application/json" });
          response.end(JSON.stringify({ code: "invalid_transition", message: "No.", status }));
        });
      });
      const job = { key: "report", secrets: [secret], url, outcome: "active", install_id: INSTALL };
      await driver.run("report", { ...job, status: "active", endpoint_url: "https://app.test" });
      expect(received).toHaveLength(3);
      const { body, headers, url: path } = received[2] ?? { body: "", headers: new Headers(), url: "" };
      expect(path).toBe(`/api/marketplace/installs/${INSTALL}/provisioning`);
      expect(JSON.parse(body)).toEqual({ status: "active", endpoint_url: "https://app.test" });
      expect(() => verifyWebhook({ secrets: secret, body, headers })).not.toThrow();
      expect(await driver.fail("report", { ...job, status: "failed" })).toMatchObject({
        kind: "call",
        error_code: "invalid_transition",
        status: 409,
      });
      server.close();
    });
  });
}
