import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer } from "../support/app.ts";
import { elevated, founder, invite, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
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

it.each<[string, (by: Somebody, userUuid: string) => Promise<Answer>]>([
  ["has ended", ({ token }, userUuid) => realm.app.call("DELETE", `/api/users/${userUuid}`, { token })],
  [
    "was of an organization that is deleted",
    async ({ org, token }) =>
      realm.app.call("DELETE", `/api/organizations/${org}`, { token: await elevated(realm.app, token) }),
  ],
])("a membership elsewhere that %s keeps no member from entering by their address", async (_how, end) => {
  const { app, owner } = realm;
  const former = await founder(app);
  const sub = `freed-${randomUUID()}`;
  const userUuid = await joined(sub, former);
  const membership = `insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
    select $1, uuid, 3, email_key, now(), now() from people where uuid = $2`;
  await runSql(app.databaseUrl, membership, [owner.org, userUuid]);
  expect(outcome(await signIn(realm, subject(sub)))).toBe("403 link_required");
  expect((await end(former, userUuid)).status).toBeLessThan(300);
  const entered = await signIn(realm, subject(sub));
  expect(outcome(entered)).toBe("200");
  expect(decodeJwt(entered.body.access_token as string)).toMatchObject({ org: owner.org, sub: userUuid });
});

it("the verified address of a member who is inactive links nothing", async () => {
  const { app, owner } = realm;
  const sub = `inactive-${randomUUID()}`;
  expect(outcome(await signIn(realm, subject(sub)))).toBe("200");
  const ofAddress = "select uuid from people where email = $1";
  const [person] = await runSql<{ uuid: string }>(app.databaseUrl, ofAddress, [`${sub}@corp.test`]);
  await patch(owner, `/api/users/${person?.uuid}`, { status: "inactive" });
  const anew = subject(`${sub}-2`, { email: `${sub}@corp.test` });
  const { body } = await connect(app, owner, realm.provider.discoveryUrl);
  const second = { ...realm, connection: body.connection_uuid as string };
  expect(outcome(await signIn(second, anew))).toBe("403 link_required");
  await patch(owner, `/api/users/${person?.uuid}`, { status: "active" });
  expect(outcome(await signIn(second, anew))).toBe("200");
});
