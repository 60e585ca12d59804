import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { elevated, outcome } from "../support/people.ts";
import { signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

// Auth0 names issuers with a slash at the end (OpenID Connect Discovery 1.0 §4.1).
let realm: Realm;
let issuer: string;
beforeAll(async () => {
  realm = await startRealm();
  issuer = `${realm.provider.issuer}/`;
  realm.provider.discovery = { issuer };
  realm.provider.claims = (claims) => ({ ...claims, iss: issuer });
});
afterAll(() => realm.close());

const event = { "http://schemas.openid.net/event/backchannel-logout": {} };
function logoutToken(iss: string): Promise<string> {
  const { signer, now } = realm.provider;
  return new SignJWT({ iss, aud: "atrium-client", sub: "ann", jti: randomUUID(), events: event })
    .setIssuedAt(Math.floor(now() / 1000))
    .setProtectedHeader({ alg: signer.alg, kid: signer.kid, typ: "logout+jwt" })
    .sign(signer.privateKey);
}
async function logout(iss: string): Promise<string> {
  const path = `/api/auth/oidc/${realm.connection}/backchannel-logout`;
  const body = new URLSearchParams({ logout_token: await logoutToken(iss) }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return outcome(await realm.app.call("POST", path, { body, headers }));
}

it("a provider whose issuer ends in a slash signs people in, and its connection passes the test", async () => {
  const { app, owner, connection } = realm;
  expect(outcome(await signIn(realm, subject("ann")))).toBe("200");
  const path = `/api/admin/organizations/${owner.org}/oidc-connections/${connection}/test`;
  const { body } = await app.call("POST", path, { token: await elevated(app, owner.token) });
  expect(body.ok, JSON.stringify(body.checks)).toBe(true);
});

it("its tokens name the issuer as its document does", async () => {
  const { app } = realm;
  const { body } = await signIn(realm, subject("ann"));
  const me = async () => (await app.call("GET", "/api/auth/me", { token: body.access_token })).status;
  expect(await logout(realm.provider.issuer)).toBe("400 bad_request");
  expect(await me()).toBe(200);
  expect(await logout(issuer)).toBe("200");
  expect(await me()).toBe(401);
  realm.provider.claims = (claims) => claims;
  expect(outcome(await signIn(realm, subject("ann")))).toBe("401 token_exchange_failed");
});
