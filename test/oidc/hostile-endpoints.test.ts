import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { IncomingMessage, ServerResponse } from "node:http";
import { outcome } from "../support/people.ts";
import { providerKey } from "./hostile-provider.ts";
import { begin, callbackOf, comeBack, granted, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(() => {
  const { provider } = realm;
  provider.discovery = {};
  provider.answers.clear();
  provider.requests.clear();
  // What is cached of the provider is fetched anew.
  realm.app.clock.advance(3_600_001);
});

const callback = async () => {
  const { answer } = await callbackOf(realm, subject("lie"));
  expect(answer.text).not.toContain("127.0.0.1");
  return answer.status === 302 ? "302" : outcome(answer);
};

it.each(["/jwks", "/token"])("a sign-in ends after 10 seconds when %s drips", async (path) => {
  const { app, provider } = realm;
  const drips: NodeJS.Timeout[] = [];
  let isClosed = false;
  provider.answers.set(path, (_: IncomingMessage, to: ServerResponse) => {
    to.writeHead(200, { "content-type": "application/json" });
    drips.push(setInterval(() => to.write(" "), 100));
    to.on("close", () => {
      isClosed = true;
      drips.forEach((drip) => clearInterval(drip));
    });
  });
  const pending = callback();
  await expect.poll(() => drips.length).toBe(1);
  // Others are served meanwhile.
  expect((await app.call("GET", "/healthz")).status).toBe(200);
  expect(await pending).toBe("502 provider_error");
  await expect.poll(() => isClosed).toBe(true);
  expect(provider.requests.get(path)).toBe(1);
});

it.each([301, 302, 303, 307, 308])(
  "a redirect by %i of the key set or token endpoint is not followed",
  async (status) => {
    const { app, provider } = realm;
    const redirect = (_: IncomingMessage, to: ServerResponse) =>
      void to.writeHead(status, { location: `${provider.issuer}/elsewhere` }).end();
    provider.answers.set("/jwks", redirect);
    expect(await callback()).toBe("502 provider_error");
    provider.answers.clear();
    app.clock.advance(3_600_001);
    provider.answers.set("/token", redirect);
    expect(await callback()).toBe("401 token_exchange_failed");
    expect(provider.requests.get("/elsewhere")).toBeUndefined();
  },
);

it.each([
  "http://10.0.0.1",
  "http://192.168.1.1",
  "http://172.16.0.1",
  "http://169.254.169.254",
  "http://[fd00::1]",
  "http://[::ffff:10.0.0.1]",
  "http://0x0a000001",
  "http://0.0.0.0",
])("a sign-in whose provider names an endpoint at %s is 502, before the browser leaves and after", async (host) => {
  const { app, provider } = realm;
  for (const endpoint of ["jwks_uri", "token_endpoint", "userinfo_endpoint"]) {
    provider.discovery = {};
    app.clock.advance(3_600_001);
    const begun = await begin(realm);
    provider.discovery = { [endpoint]: `${host}/x` };
    // The document has expired while the person was at the provider: a sign-in may take 10 minutes, the document 5.
    app.clock.advance(300_001);
    const answer = await comeBack(realm, begun.cookie, granted(realm, begun));
    expect([endpoint, outcome(answer)]).toEqual([endpoint, "502 provider_error"]);
    expect(answer.text).not.toContain(host);
    const path = `/api/auth/oidc/${realm.connection}/authorize`;
    expect(outcome(await app.call("GET", path))).toBe("502 provider_error");
  }
  expect([provider.requests.get("/token"), provider.requests.get("/jwks")]).toEqual([undefined, undefined]);
});

it("a key set of 1,000 keys is refused, and one of 200 with the right key at its end is used", async () => {
  const { app, provider } = realm;
  const { jwk } = await providerKey("ES256");
  const [own] = provider.keys;
  for (const [count, expected] of [
    [1_000, "502 provider_error"],
    [201, "502 provider_error"],
    [200, "302"],
  ] as const) {
    const others = Array.from({ length: count - 1 }, (_, nth) => ({ ...jwk, kid: `other ${nth}` }));
    provider.answers.set("/jwks", (_, to) => {
      to.writeHead(200, { "content-type": "application/json" });
      to.end(JSON.stringify({ keys: [...others, own?.jwk] }));
    });
    app.clock.advance(3_600_001);
    expect([count, await callback()]).toEqual([count, expected]);
  }
});
