import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { clockAhead } from "../support/clock.ts";
import { callbackOf, redeem, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
let ahead: TestApp;
beforeAll(async () => {
  realm = await startRealm({ clock: systemClock });
  ahead = await startApp({ databaseUrl: realm.app.databaseUrl, clock: clockAhead(2_000) });
});
afterAll(async () => {
  await ahead.close();
  await realm.close();
});

/** A logout of somebody at the provider, which an instance is told. */
async function logOut(app: TestApp, sub: string): Promise<void> {
  const { connection, provider } = realm;
  const { signer } = provider;
  const iat = Math.floor(systemClock.now() / 1_000);
  const event = { "http://schemas.openid.net/event/backchannel-logout": {} };
  const claims = { iss: provider.issuer, aud: "atrium-client", iat, exp: iat + 120, jti: randomUUID(), events: event };
  const token = await new SignJWT({ ...claims, sub })
    .setProtectedHeader({ alg: signer.alg, kid: signer.kid, typ: "logout+jwt" })
    .sign(signer.privateKey);
  const answer = await app.call("POST", `/api/auth/oidc/${connection}/backchannel-logout`, {
    body: new URLSearchParams({ logout_token: token }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  if (answer.status !== 200) throw new Error(`the logout answered ${answer.status}: ${answer.text}`);
}

it("a sign-in after a logout succeeds where the instance with the logout is two seconds ahead", async () => {
  expect((await signIn(realm, subject("ann"))).status).toBe(200);
  await logOut(ahead, "ann");
  expect((await signIn(realm, subject("ann"))).status).toBe(200);
});

it("a logout ends a sign-in under way where the instance with its callback is two seconds ahead", async () => {
  const { cookie, answer } = await callbackOf({ ...realm, app: ahead }, subject("bob"));
  await logOut(realm.app, "bob");
  expect((await redeem(realm, sessionTokenOf(answer), cookie)).status).toBe(401);
});
