import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { compilePolicies } from "../../src/server/policy.ts";
import { services } from "../../gen/services.ts";
import { Credential } from "../../gen/atrium/options/v1/options_pb.ts";
import { BASE, cookie, COOKIE, cookieOf, post, refresh, signIn } from "./cookie-support.ts";

let app: TestApp;
let production: TestApp;
beforeAll(async () => {
  app = await startApp();
  production = await startApp({ env: productionEnv() });
});
afterAll(async () => {
  await app.close();
  await production.close();
});

/** Settings of the production profile, which does not take cookie mode from loopback hosts. */
function productionEnv(): Record<string, string> {
  return {
    SERVICE_PROFILE: "production",
    DATABASE_URL: "postgresql://unused",
    TEMPORAL_ADDRESS: "127.0.0.1:1",
    SERVICE_MAIL: "off",
    SERVICE_HOST: "127.0.0.1",
    SERVICE_RATE_LIMITS: "off",
    SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    SERVICE_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  };
}

const host = (one: TestApp): string => new URL(one.url).host;

describe("the origin of cookie mode", () => {
  const foreign: [string, Record<string, string>][] = [
    ["a foreign origin", { origin: "https://evil.test" }],
    ["a subdomain", { origin: "http://sub.atrium.test" }],
    ["another scheme", { origin: "https://atrium.test" }],
    ["another port", { origin: "http://atrium.test:8080" }],
    ["an origin that starts alike", { origin: "http://atrium.test.evil.test" }],
    ["the null origin", { origin: "null" }],
    ["an empty origin", { origin: "" }],
    ["another loopback port", { origin: "http://127.0.0.1:1" }],
    ["a same-site page", { "sec-fetch-site": "same-site" }],
    ["a cross-site page", { "sec-fetch-site": "cross-site" }],
    ["a request that no page sent", { "sec-fetch-site": "none" }],
  ];

  it.each(foreign)("login, refresh and logout refuse %s with 403", async (_what, headers) => {
    const { token, value } = await signIn(app);
    const login = await signIn(app, headers);
    expect(outcome(login.answer)).toBe("403 forbidden");
    expect(cookieOf(login.answer)).toBeUndefined();
    const refused = await refresh(app, value, headers);
    expect(outcome(refused)).toBe("403 forbidden");
    expect(cookieOf(refused)).toBeUndefined();
    expect(outcome(await post(app, "/api/auth/logout", {}, { token, headers }))).toBe("403 forbidden");
    expect(outcome(await refresh(app, value))).toBe("200");
  });

  it("an absent origin is refused with 403", async () => {
    const { value } = await signIn(app);
    const headers = { ...cookie(value), "x-atrium-session": "cookie" };
    const answer = await app.call("POST", "/api/auth/refresh", { body: {}, headers });
    expect(outcome(answer)).toBe("403 forbidden");
  });

  it("browsers that send no Sec-Fetch-Site are served by their origin alone", async () => {
    const { value } = await signIn(app);
    const headers = { ...cookie(value), origin: BASE, "x-atrium-session": "cookie" };
    expect(outcome(await app.call("POST", "/api/auth/refresh", { body: {}, headers }))).toBe("200");
  });

  it("the loopback host that is asked is allowed in development and not in production", async () => {
    const own = (one: TestApp) => ({ origin: `http://${host(one)}` });
    expect(outcome((await signIn(app, own(app))).answer)).toBe("200");
    expect(outcome((await signIn(production, own(production))).answer)).toBe("403 forbidden");
    expect(outcome((await signIn(production)).answer)).toBe("200");
  });

  it.each(["token", "cookie; forever", "cookie, cookie", "", "cookie; persistent; x"])(
    "the header value %j is refused with 400",
    async (value) => {
      expect(outcome((await signIn(app, { "x-atrium-session": value })).answer)).toBe("400 bad_request");
    },
  );

  it("header and cookie are in no CORS list, and a foreign origin gets no CORS headers", async () => {
    const preflight = await fetch(`${app.url}/api/auth/refresh`, {
      method: "OPTIONS",
      headers: {
        origin: "http://localhost:3000",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-atrium-session",
      },
    });
    expect(preflight.status).toBe(204);
    const listed = [...preflight.headers].map((pair) => pair.join(": ")).join("\n");
    expect(listed).not.toMatch(/x-atrium-session|cookie|credentials/iu);
    const { answer } = await signIn(production, { origin: "https://evil.test" });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("cookies that are not ours", () => {
  it("a cross-site form post with the cookie opens nothing", async () => {
    const { value } = await signIn(app);
    const headers = { ...cookie(value), origin: "https://evil.test", "content-type": "text/plain" };
    expect((await app.call("POST", "/api/auth/refresh", { body: "{}", headers })).status).toBe(415);
    expect(outcome(await refresh(app, value))).toBe("200");
  });

  it("a cookie that a subdomain tosses under another name is not read", async () => {
    const { value } = await signIn(app);
    for (const name of [
      COOKIE.slice("__Host-".length),
      COOKIE.toLowerCase(),
      `__Secure-${COOKIE.slice(7)}`,
      `${COOKIE}x`,
    ]) {
      const answer = await post(app, "/api/auth/refresh", {}, { headers: { cookie: `${name}=${value}` } });
      expect(outcome(answer)).toBe("401 unauthorized");
    }
    const beside = { cookie: `a=b; atrium=x;${COOKIE}=${value} ; c` };
    expect(outcome(await post(app, "/api/auth/refresh", {}, { headers: beside }))).toBe("200");
  });

  it("two different cookies of the name are no session, in either order", async () => {
    const [mine, theirs] = [(await signIn(app)).value, (await signIn(app)).value];
    for (const [first, second] of [
      [mine, theirs],
      [theirs, mine],
    ]) {
      const headers = { cookie: `${COOKIE}=${first}; ${COOKIE}=${second}` };
      expect(outcome(await post(app, "/api/auth/refresh", {}, { headers }))).toBe("401 unauthorized");
    }
    expect(outcome(await refresh(app, mine))).toBe("200");
  });

  it.each(["", '"', "%00", "é", "a".repeat(8_000), "../../x", "null"])("the cookie value %j is 401", async (value) => {
    const encoded = Buffer.from(value, "utf8").toString("latin1");
    expect(outcome(await refresh(app, encoded))).toBe("401 unauthorized");
  });

  it("a stolen cookie that is used again after its grace ends the session", async () => {
    const { value } = await signIn(app);
    const next = await refresh(app, value);
    app.clock.advance(10_001);
    const stolen = await refresh(app, value);
    expect(outcome(stolen)).toBe("401 unauthorized");
    expect(cookieOf(stolen)?.attributes).toContain("Max-Age=0");
    expect(outcome(await refresh(app, cookieOf(next)?.value ?? ""))).toBe("401 unauthorized");
  });
});

describe("the cookie alone", () => {
  it("it is no credential of any rpc, over Connect, with and without the header", async () => {
    const { value } = await signIn(app);
    const rpcs = [...compilePolicies(services).values()].filter(
      ({ credential, method }) => credential === Credential.BEARER && method.methodKind === "unary",
    );
    expect(rpcs.length).toBeGreaterThan(150);
    const wrong: string[] = [];
    for (const { path, rpc } of rpcs) {
      for (const mode of [{}, { origin: BASE, "x-atrium-session": "cookie" }]) {
        const headers = { ...cookie(value), ...mode };
        const answer = await app.call("POST", path, { body: {}, headers });
        if (answer.status !== 401) wrong.push(`${rpc}: ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("logout with the cookie alone is 401 and ends nothing", async () => {
    const { value } = await signIn(app);
    const answer = await post(app, "/api/auth/logout", {}, { headers: cookie(value) });
    expect(outcome(answer)).toBe("401 unauthorized");
    expect(outcome(await refresh(app, value))).toBe("200");
  });

  it("refresh without the header does not read the cookie", async () => {
    const { value } = await signIn(app);
    const headers = { ...cookie(value), origin: BASE };
    const answer = await app.call("POST", "/api/auth/refresh", { body: {}, headers });
    expect(outcome(answer)).toBe("400 validation_error");
    expect(outcome(await refresh(app, value))).toBe("200");
  });
});
