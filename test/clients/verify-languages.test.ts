import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { languages } from "./driver.ts";
import type { Driver, DriverError } from "./driver.ts";
import { ISSUER, listen, makeIssuer, ORG, REFUSED } from "./issuer.ts";

const seconds = (): number => Math.floor(Date.now() / 1_000);
const KEYS = `/api/organizations/${ORG}/.well-known/jwks.json`;
/** More than a verifier keeps key sets. */
const INVENTED = 1_500;
/** 100 at once, then 5 a second: only a run of two minutes makes this many. */
const MOST_REQUESTS = 700;

/** A token that nobody signed, of an organization that does not exist. */
const invented = (): string => {
  const parts = [
    { alg: "EdDSA", typ: "at+jwt", kid: "x" },
    { iss: ISSUER, org: crypto.randomUUID() },
  ];
  return [...parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")), "eHh4"].join(".");
};

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
});
afterAll(() => app.close());

/** An issuer of our own, whose key set a server has. */
async function issuer() {
  const made = await makeIssuer();
  const { publish } = made;
  const requests: string[] = [];
  const [url, server] = await listen((request, response) => {
    requests.push(request.url ?? "");
    if (publish.slow) {
      // The beginning of a key set, and nothing more.
      response.writeHead(200).write('{"keys":[');
      return;
    }
    if (request.url !== KEYS) return void response.writeHead(404).end("{}");
    response.writeHead(publish.status, { "cache-control": "max-age=300", ...publish.headers }).end(publish.body);
  });
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { ...made, requests, url, close };
}

for (const language of languages()) {
  describe.skipIf(language.missing !== undefined)(`the verifier in ${language.name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await language.start();
    });
    afterAll(() => driver.stop());

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

    it.each(REFUSED)("refuses %s, and fetches keys from the issuer alone", async (name, claims, header) => {
      const { sign, requests, url, close } = await issuer();
      const job = { key: name, issuer: ISSUER, base_url: url, token: await sign(claims, header) };
      expect(await driver.fail("verify", job)).toMatchObject({ kind: "token", status: 401 });
      expect(requests.filter((path) => path !== KEYS)).toEqual([]);
      close();
    });

    it("gives an API key the roles of its maker only with the scope admin", async () => {
      const token = await app.login();
      const { org_uuid: orgUuid } = (await app.call("GET", "/api/auth/me", { token })).body;
      const job = { issuer: ISSUER, base_url: app.url, introspect: true };
      for (const [scope, allowed] of [
        ["read:users", false],
        ["admin", true],
      ] as const) {
        const body = { name: `${language.name} ${scope}`, scopes: [scope] };
        const made = await app.call("POST", `/api/admin/organizations/${orgUuid}/api-keys`, { token, body });
        const key = { ...job, token: made.body.api_key };
        expect(await driver.run("verify", key)).toMatchObject({ scopes: expect.arrayContaining([scope]) });
        const demanded = driver
          .run("verify", { ...key, roles: ["admin"] })
          .catch((error: DriverError) => error.failure);
        expect(await demanded).toMatchObject(allowed ? { org_name: "Acme" } : { kind: "token", status: 403 });
      }
    });

    it("asks the service about no credential that it cannot have made", async () => {
      const { requests, url, close } = await issuer();
      const job = { key: "malformed", issuer: ISSUER, base_url: url, introspect: true };
      for (const token of ["", "a\0b", "a\nb", "a b", "é", "x".repeat(20_000)])
        expect(await driver.fail("verify", { ...job, token })).toMatchObject({ kind: "token", status: 401 });
      expect(requests).toEqual([]);
      close();
    });

    it("refuses a token with an extension that must be understood", async () => {
      const { sign, url, close } = await issuer();
      const token = await sign({}, { crit: ["b64"], b64: true });
      const job = { key: "critical", issuer: ISSUER, base_url: url, token };
      expect(await driver.fail("verify", job)).toMatchObject({ kind: "token", status: 401 });
      close();
    });

    it("refuses everybody where no role is good enough", async () => {
      const job = { issuer: ISSUER, base_url: app.url, token: await app.login() };
      expect(await driver.run("verify", { ...job, roles: ["admin", "manager"] })).toMatchObject({ roles: ["admin"] });
      for (const roles of [[], ["manager"]])
        expect(await driver.fail("verify", { ...job, roles })).toMatchObject({ kind: "token", status: 403 });
    });

    it.runIf(language.name.startsWith("Python"))("takes no text for a collection of names", async () => {
      const job = { issuer: ISSUER, base_url: app.url, token: await app.login(), roles: "admin" };
      const message = expect.stringContaining("pass ['admin']");
      expect(await driver.fail("verify", job)).toEqual({ kind: "other", message });
    });

    it("has the same caller for a token again, whatever a handler did with the first", async () => {
      const job = { key: "again", issuer: ISSUER, base_url: app.url, token: await app.login() };
      for (let nth = 0; nth < 3; nth++)
        expect(await driver.run("verify", job)).toMatchObject({ roles: ["admin"], scopes: null });
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

    it("spends few requests, and no known key set, on invented organizations", async () => {
      const { sign, requests, url, close } = await issuer();
      const job = { key: "invented", issuer: ISSUER, base_url: url };
      await driver.run("verify", { ...job, token: await sign() });
      const refused = Array.from({ length: INVENTED }, invented);
      const later = { ...job, refused, token: await sign({ jti: "2" }) };
      const outcome = await driver.run("verify", later);
      expect(outcome).toMatchObject({ refused: INVENTED });
      expect(outcome.unavailable).toBeGreaterThan(0);
      expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
      expect(new Set(requests).size).toBe(requests.length);
      close();
    });

    it("uses known keys while the service does not respond, also for requests with little time", async () => {
      const { sign, publish, url, close } = await issuer();
      publish.headers = { "cache-control": "max-age=0" };
      const job = { key: "stale", issuer: ISSUER, base_url: url, context: 0.5 };
      await driver.run("verify", { ...job, token: await sign() });
      publish.slow = true;
      for (const jti of ["2", "3"])
        expect(await driver.run("verify", { ...job, token: await sign({ jti }) })).toMatchObject({ org_name: "Acme" });
      close();
    });

    it("uses known keys at once while an unknown one is looked for", async () => {
      const { sign, publish, requests, url, close } = await issuer();
      const job = { key: "looking", issuer: ISSUER, base_url: url };
      await driver.run("verify", { ...job, token: await sign() });
      publish.slow = true;
      let found = false;
      const unknown = driver
        .fail("verify", { ...job, token: await sign({}, { kid: "k2" }) })
        .finally(() => (found = true));
      await expect.poll(() => requests.length).toBe(2);
      await driver.run("verify", { ...job, token: await sign({ jti: "2" }) });
      expect(found).toBe(false);
      expect(await unknown).toMatchObject({ kind: "token", status: 401 });
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

    it("accepts no token of a wrongly described key, and goes on with the others", async () => {
      const { sign, publish, wrongKeys, url, close } = await issuer();
      const { body, tokens } = await wrongKeys();
      publish.body = body;
      const job = { key: "lying", issuer: ISSUER, base_url: url };
      for (const token of tokens)
        expect(await driver.fail("verify", { ...job, token })).toMatchObject({ kind: "token", status: 401 });
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
  });
}
