import { afterAll, beforeAll, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { startOpenidProvider } from "./openid-provider.ts";
import type { Browser, OpenidProvider } from "./openid-provider.ts";
import { connect, redeem, sessionTokenOf } from "./support.ts";

let app: TestApp;
let provider: OpenidProvider;
let owner: Somebody;
let connection: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  provider = await startOpenidProvider(app);
  owner = await founder(app);
  const { body } = await connect(app, owner, provider.discoveryUrl);
  connection = body.connection_uuid as string;
  await provider.register(body.redirect_uri as string);
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** A sign-in up to the session token: the token and the cookie that it needs. */
async function returned(browser: Browser, accountId: string): Promise<{ token: string; cookie: string }> {
  // The provider has the machine's clock.
  app.clock.set(Date.now());
  const begun = await app.call("GET", `/api/auth/oidc/${connection}/authorize`);
  const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const query = new URLSearchParams(await browser.signIn(begun.headers.get("location") ?? "", accountId));
  const path = `/api/auth/oidc/${connection}/callback?${query.toString()}`;
  const answer = await app.call("GET", path, { headers: { cookie } });
  if (answer.status !== 302) throw new Error(`the callback answered ${answer.status}: ${answer.text}`);
  return { token: sessionTokenOf(answer), cookie };
}

async function enter(browser: Browser, accountId: string): Promise<Answer> {
  const { token, cookie } = await returned(browser, accountId);
  return redeem({ app } as Parameters<typeof redeem>[0], token, cookie);
}
const me = (token: string): Promise<Answer> => app.call("GET", "/api/auth/me", { token });

it("somebody signs in by a certified provider, and is the same person the next time", async () => {
  const browser = provider.browser();
  const first = await enter(browser, "ann");
  expect(first.status, first.text).toBe(200);
  const { body } = await me(first.body.access_token as string);
  expect(body).toMatchObject({ email: "ann@corp.test", org_uuid: owner.org, roles: ["employee"] });
  const second = await enter(browser, "ann");
  expect((await me(second.body.access_token as string)).body.user_uuid).toBe(body.user_uuid);
});

it("the test of a connection to a certified provider passes, and names a wrong client secret", async () => {
  const token = await elevated(app, owner.token);
  const path = `/api/admin/organizations/${owner.org}/oidc-connections`;
  expect((await app.call("POST", `${path}/${connection}/test`, { token })).body).toMatchObject({ ok: true });
  const wrong = await connect(app, owner, provider.discoveryUrl, { client_secret: "another" });
  const { body } = await app.call("POST", `${path}/${wrong.body.connection_uuid as string}/test`, { token });
  expect(body.ok).toBe(false);
  expect(body.checks[3]).toMatchObject({ name: "endpoints", ok: false, message: expect.stringContaining("secret") });
});

it("a sign-in by a certified provider asks for the second factor of the account, and TOTP completes it", async () => {
  const browser = provider.browser();
  const token = (await enter(browser, "bob")).body.access_token as string;
  const made = await app.call("POST", "/api/v1/me/mfa/factors", { token, body: { factor_type: "totp" } });
  const { id, secret } = made.body.data as { id: number; secret: string };
  // A time step is accepted once: the enrolment uses the one before.
  const body = { code: codeAt(secret, app.clock.now(), -1) };
  expect((await app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, { token, body })).status).toBe(200);
  const asked = await enter(browser, "bob");
  expect(asked.body).toEqual({ mfa_required: true, mfa_token: expect.any(String) });
  const completed = await app.call("POST", "/api/auth/mfa/totp/challenge", {
    body: { mfa_token: asked.body.mfa_token, code: codeAt(secret, app.clock.now()) },
  });
  expect(completed.status, completed.text).toBe(200);
  expect((await me(completed.body.access_token as string)).status).toBe(200);
});

it("an address that belongs to an account elsewhere is linked from a session, and signs in afterwards", async () => {
  const email = "cal@corp.test";
  const signUp = { name: "Elsewhere", email, password, first_name: "Cal" };
  expect((await app.call("POST", "/api/organizations", { body: signUp })).status).toBe(201);
  const browser = provider.browser();
  const { token, cookie } = await returned(browser, "cal");
  expect(outcome(await redeem({ app } as Parameters<typeof redeem>[0], token, cookie))).toBe("403 link_required");
  const linked = await app.call("POST", "/api/auth/oidc/link", {
    token: await app.login(email, password, signUp.name),
    body: { session_token: token },
    headers: { cookie },
  });
  expect(linked.status, linked.text).toBe(204);
  // A link makes no membership.
  expect(outcome(await enter(browser, "cal"))).toBe("403 forbidden");
});

it("where single sign-on is required, members enter by the certified provider and by nothing else", async () => {
  const employee = await member(app, owner);
  const require = (sso_required: boolean, token: string) =>
    app.call("PATCH", `/api/organizations/${owner.org}`, { token, body: { sso_required } });
  const token = await elevated(app, await app.login(owner.email, password, owner.orgName));
  expect(outcome(await require(true, token))).toBe("200");
  const byPassword = await app.call("POST", "/api/auth/login", {
    body: { email: employee.email, password, org_name: owner.orgName },
  });
  expect(outcome(byPassword)).toBe("403 sso_required");
  expect(outcome(await enter(provider.browser(), "dan"))).toBe("200");
  expect(outcome(await require(false, token))).toBe("200");
});

it("a logout at the certified provider ends the session that it opened, and no other", async () => {
  const [here, elsewhere] = [provider.browser(), provider.browser()];
  const ended = (await enter(here, "eve")).body.access_token as string;
  const other = (await enter(elsewhere, "eve")).body.access_token as string;
  expect((await me(ended)).status).toBe(200);
  app.clock.set(Date.now());
  await here.signOut();
  await expect.poll(async () => (await me(ended)).status).toBe(401);
  expect((await me(other)).status).toBe(200);
});
