import { afterAll, beforeAll, expect, it } from "vitest";
import { elevated, founder, invite, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { callbackOf, connect, redeem, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

// What docs/oidc.md says to owners of organizations that require single sign-on.
let realm: Realm;
let elsewhere: Somebody;
beforeAll(async () => {
  realm = await startRealm();
  elsewhere = await founder(realm.app);
  await require(true);
});
afterAll(() => realm.close());

async function patch(by: Somebody, path: string, body: object): Promise<void> {
  const token = await elevated(realm.app, by.token);
  expect(outcome(await realm.app.call("PATCH", path, { token, body }))).toBe("200");
}
const require = (sso_required: boolean) =>
  patch(realm.owner, `/api/organizations/${realm.owner.org}`, { sso_required });
const byPassword = (email: string) =>
  realm.app.call("POST", "/api/auth/login", { body: { email, password, org_name: realm.owner.orgName } });
const accept = (token: string, bearer?: string) =>
  realm.app.call("POST", "/api/auth/invite/accept", { token: bearer, body: { token, ...newcomer() } });

/** Links the identity at the provider from a session. */
async function link(sub: string, bearer: string): Promise<string> {
  const { cookie, answer } = await callbackOf(realm, subject(sub));
  const sessionToken = sessionTokenOf(answer);
  expect(outcome(await redeem(realm, sessionToken, cookie))).toBe("403 link_required");
  const body = { session_token: sessionToken };
  return outcome(await realm.app.call("POST", "/api/auth/oidc/link", { token: bearer, body, headers: { cookie } }));
}

/** A member who was invited with an address of the provider. */
async function joined(sub: string, by: Somebody = realm.owner): Promise<string> {
  const { token } = await invite(realm.app, by, `${sub}@corp.test`);
  const { status, body } = await accept(token);
  expect(status).toBe(200);
  return body.data.user_uuid as string;
}

it("a member who was in another organization enters once they were an owner for a moment", async () => {
  const { app, owner } = realm;
  const userUuid = await joined("former", elsewhere);
  await require(false);
  const { token } = await invite(app, owner, "former@corp.test");
  const bearer = await app.login("former@corp.test", password, elsewhere.orgName);
  expect((await accept(token, bearer)).status).toBe(200);
  await require(true);
  await patch(elsewhere, `/api/users/${userUuid}`, { status: "inactive" });
  expect(outcome(await byPassword("former@corp.test"))).toBe("403 sso_required");
  expect(outcome(await signIn(realm, subject("former")))).toBe("403 link_required");

  await patch(owner, `/api/users/${userUuid}`, { is_owner: true });
  const session = await byPassword("former@corp.test");
  expect(outcome(session)).toBe("200");
  expect(await link("former", session.body.access_token as string)).toBe("204");
  await patch(owner, `/api/users/${userUuid}`, { is_owner: false });
  expect(outcome(await signIn(realm, subject("former")))).toBe("200");
});

it("a member whose account at the provider was made anew enters by a second connection", async () => {
  const { app, owner } = realm;
  const email = "anew@corp.test";
  expect(outcome(await signIn(realm, subject("anew")))).toBe("200");
  const anew = subject("anew-2", { email });
  expect(outcome(await signIn(realm, anew))).toBe("403 link_required");
  const { body } = await connect(app, owner, realm.provider.discoveryUrl);
  const second = { ...realm, connection: body.connection_uuid as string };
  expect(outcome(await signIn(second, anew))).toBe("200");
});

it("somebody invited who is known elsewhere joins while single sign-on is not required", async () => {
  const { app, owner } = realm;
  const known = await member(app, elsewhere);
  const { token } = await invite(app, owner, known.email);
  expect(outcome(await accept(token, known.token))).toBe("403 sso_required");
  await require(false);
  const { status, body } = await accept(token, known.token);
  expect(status).toBe(200);
  const { cookie, answer } = await callbackOf(realm, subject("known-elsewhere"));
  const linked = await app.call("POST", "/api/auth/oidc/link", {
    token: body.data.access_token as string,
    body: { session_token: sessionTokenOf(answer) },
    headers: { cookie },
  });
  expect(outcome(linked)).toBe("204");
  await require(true);
  expect(outcome(await signIn(realm, subject("known-elsewhere")))).toBe("200");
});
