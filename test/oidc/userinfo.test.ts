import type { ServerResponse } from "node:http";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { outcome } from "../support/people.ts";
import { signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

// What a provider says of an address at its userinfo endpoint alone.
let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
  realm.provider.discovery = { userinfo_endpoint: `${realm.provider.issuer}/userinfo` };
});
afterAll(() => realm.close());
beforeEach(() => realm.provider.requests.delete("/userinfo"));

/** An ID token as Okta issues it for a code: the address, without a word on whether it is verified. */
const thin = (sub: string) => subject(sub, { email_verified: undefined });

function saysAtUserinfo(body: unknown, status = 200): void {
  realm.provider.answers.set("/userinfo", (_: unknown, to: ServerResponse) => {
    to.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
}
const asked = () => realm.provider.requests.get("/userinfo") ?? 0;

it("an address of an ID token is admitted where userinfo says that it is verified", async () => {
  const { app } = realm;
  const names = { given_name: "Ann", family_name: "Lee" };
  saysAtUserinfo({ sub: "ann", email: "ann@corp.test", email_verified: true, ...names });
  const { status, body } = await signIn(realm, thin("ann"));
  expect(status, JSON.stringify(body)).toBe(200);
  const { body: profile } = await app.call("GET", "/api/profile", { token: body.access_token as string });
  expect(profile).toMatchObject({ email: "ann@corp.test", first_name: "Ann", last_name: "Lee" });
  expect(asked()).toBe(1);
});

it("an ID token that says whether its address is verified is not asked about", async () => {
  expect(outcome(await signIn(realm, subject("bob", { name: "Bob Roe" })))).toBe("200");
  for (const email_verified of [false, null, "true"])
    expect(outcome(await signIn(realm, subject("bob", { email_verified })))).toBe("403 domain_mismatch");
  expect(asked()).toBe(0);
});

it("userinfo verifies the address that it names, and no other", async () => {
  saysAtUserinfo({ sub: "cal", email: "other@corp.test", email_verified: true });
  const { body } = await signIn(realm, thin("cal"));
  const { email } = (await realm.app.call("GET", "/api/auth/me", { token: body.access_token as string })).body;
  expect(email).toBe("other@corp.test");
  expect(decodeJwt(body.access_token as string)["amr"]).toEqual(["fed"]);
  for (const more of [
    { email_verified: true },
    { email: "dan@corp.test" },
    { email: "x@evil.test", email_verified: true },
  ]) {
    saysAtUserinfo({ sub: "dan", ...more });
    expect(outcome(await signIn(realm, thin("dan")))).toBe("403 domain_mismatch");
  }
});

it("an address stays unverified where userinfo refuses, or speaks of somebody else", async () => {
  const verified = { email: "eve@corp.test", email_verified: true };
  for (const [body, status] of [
    [{ sub: "boss", ...verified }, 200],
    [{ sub: "eve", ...verified }, 401],
    ["no object", 200],
  ] as const) {
    saysAtUserinfo(body, status);
    expect(outcome(await signIn(realm, thin("eve")))).toBe("403 domain_mismatch");
  }
  saysAtUserinfo({}, 500);
  expect(outcome(await signIn(realm, thin("eve")))).toBe("502 provider_error");
});

it("userinfo names a new person whom the ID token does not name, as GitLab's, and may fail at it", async () => {
  const entered = async (sub: string) => {
    const { body } = await signIn(realm, subject(sub));
    const profile = await realm.app.call("GET", "/api/profile", { token: body.access_token as string });
    return [profile.body.email, profile.body.first_name, profile.body.last_name];
  };
  // Another address than the one of the ID token does not count.
  saysAtUserinfo({ sub: "lab", name: "Ann Lee", email: "boss@corp.test", email_verified: true });
  expect(await entered("lab")).toEqual(["lab@corp.test", "Ann", "Lee"]);
  saysAtUserinfo({ sub: "somebody else", name: "Bob Roe" });
  expect(await entered("odd")).toEqual(["odd@corp.test", "", ""]);
  saysAtUserinfo({}, 503);
  expect(await entered("down")).toEqual(["down@corp.test", "", ""]);
});
