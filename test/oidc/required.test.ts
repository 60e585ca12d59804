import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { codeAt, wrongCode } from "../mfa/support.ts";
import type { Answer } from "../support/app.ts";
import {
  auditOf,
  elevated,
  founder,
  invite,
  mailsTo,
  member,
  newcomer,
  outcome,
  password,
  tokenTo,
} from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { callbackOf, connect, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
let employee: Somebody;
beforeAll(async () => {
  realm = await startRealm();
  employee = await member(realm.app, realm.owner);
});
afterAll(() => realm.close());

const require = (token: string, org = realm.owner.org, sso_required = true): Promise<Answer> =>
  realm.app.call("PATCH", `/api/organizations/${org}`, { token, body: { sso_required } });
const byPassword = (who: Somebody, secret = password): Promise<Answer> =>
  realm.app.call("POST", "/api/auth/login", { body: { email: who.email, password: secret, org_name: who.orgName } });

it("single sign-on is required by owners alone, elevated, and where there is a connection", async () => {
  const { app, owner } = realm;
  const admin = await member(app, owner, 1);
  expect(outcome(await require(await elevated(app, admin.token)))).toBe("403 forbidden");
  expect(outcome(await require(owner.token))).toBe("403 step_up_required");
  const other = await founder(app);
  expect(outcome(await require(await elevated(app, other.token), other.org))).toBe("409 conflict");
});

it("members enter by single sign-on alone, after their credential was right; owners and open sessions go on", async () => {
  const { app, owner, connection } = realm;
  const invited = await invite(app, owner, "invited@people.test");
  const changed = await require(await elevated(app, owner.token));
  expect(changed).toMatchObject({ status: 200, body: { sso_required: true } });

  expect(outcome(await byPassword(employee, "a wrong password"))).toBe("401 unauthorized");
  expect(outcome(await byPassword(employee))).toBe("403 sso_required");
  await app.call("POST", "/api/auth/magic-link/send", { body: { email: employee.email, org_uuid: owner.org } });
  const token = await tokenTo(app, employee.email);
  expect(outcome(await app.call("POST", "/api/auth/magic-link/verify", { body: { token } }))).toBe("403 sso_required");
  const acceptance = { token: invited.token, ...newcomer() };
  expect(outcome(await app.call("POST", "/api/auth/invite/accept", { body: acceptance }))).toBe("403 sso_required");
  expect((await auditOf(app, owner, "user.joined"))[0]).toMatchObject({
    outcome: "failure",
    resource_id: invited.id,
    metadata: { invitation_id: invited.id, code: "sso_required" },
  });
  const recorded = await app.call("GET", `/api/auth/events?user_uuid=${employee.userUuid}&outcome=failure`, {
    token: owner.token,
  });
  expect(recorded.body.data).toMatchObject([
    { type: "login.magic_link", metadata: { method: "magic_link", code: "sso_required" }, org_uuid: owner.org },
    { type: "login.password", metadata: { code: "sso_required" }, org_uuid: owner.org },
    { type: "login.password", metadata: { code: "unauthorized" }, org_uuid: owner.org },
  ]);
  expect(outcome(await byPassword(owner))).toBe("200");
  expect(outcome(await app.call("GET", "/api/auth/me", { token: employee.token }))).toBe("200");
  const refreshed = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: employee.refreshToken } });
  expect(outcome(refreshed)).toBe("200");
  expect(outcome(await signIn(realm, subject("sso")))).toBe("200");

  const path = (uuid: string) => `/api/admin/organizations/${owner.org}/oidc-connections/${uuid}`;
  expect(outcome(await app.call("DELETE", path(connection), { token: owner.token }))).toBe("409 conflict");
  const second = await connect(app, owner, realm.provider.discoveryUrl);
  const uuid = second.body.connection_uuid as string;
  expect(outcome(await app.call("DELETE", path(uuid), { token: owner.token }))).toBe("204");
  expect(outcome(await require(await elevated(app, owner.token), owner.org, false))).toBe("200");
  expect(outcome(await byPassword(employee))).toBe("200");
});

it("a one-time code, and a second factor asked for before the switch, are right and yet open nothing", async () => {
  const { app, owner } = realm;
  const post = async (path: string, body: object) => outcome(await app.call("POST", path, { body }));
  const { token, ...guarded } = await member(app, owner);
  const factors = "/api/v1/me/mfa/factors";
  const made = await app.call("POST", factors, { token, body: { factor_type: "totp" } });
  const { id, secret } = made.body.data as { id: number; secret: string };
  // A time step is accepted once: the enrolment uses the one before.
  const enrolment = { code: codeAt(secret, app.clock.now(), -1) };
  expect((await app.call("POST", `${factors}/${id}/verify`, { token, body: enrolment })).status).toBe(200);
  const { mfa_token } = (await byPassword({ ...guarded, token })).body as { mfa_token: string };
  expect(await post("/api/auth/otp", { email: employee.email })).toBe("200");
  const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, employee.email)).at(-1)?.text ?? "")?.[1] ?? "";
  const byCode = (entered: string) => post("/api/auth/otp/verify", { email: employee.email, code: entered });
  const bySecondFactor = (entered: string) => post("/api/auth/mfa/totp/challenge", { mfa_token, code: entered });
  const [now, wrong] = [app.clock.now(), code === "000000" ? "111111" : "000000"];

  const requires = async (isRequired: boolean): Promise<void> =>
    expect(outcome(await require(await elevated(app, owner.token), owner.org, isRequired))).toBe("200");
  onTestFinished(() => requires(false));
  await requires(true);
  expect(await byCode(wrong)).toBe("401 unauthorized");
  expect(await byCode(code)).toBe("403 sso_required");
  expect(await bySecondFactor(wrongCode(secret, now))).toBe("401 unauthorized");
  expect(await bySecondFactor(codeAt(secret, now))).toBe("403 sso_required");
  for (const [{ userUuid }, type] of [
    [employee, "login.magic_link"],
    [guarded, "login.totp_verify"],
  ] as const) {
    const path = `/api/auth/events?user_uuid=${userUuid}&outcome=failure`;
    const { body } = await app.call("GET", path, { token: owner.token });
    expect(body.data[0]).toMatchObject({ type, metadata: { code: "sso_required" }, org_uuid: owner.org });
  }

  // What was right is not used up.
  await requires(false);
  expect(await byCode(code)).toBe("200");
  expect(await bySecondFactor(codeAt(secret, now))).toBe("200");
});

it("a link joins nobody to an organization that requires single sign-on, and is good again afterwards", async () => {
  const { app, owner } = realm;
  const path = `/api/organizations/${owner.org}`;
  const email = `${randomUUID()}@jit.test`;
  const requires = async (sso_required: boolean): Promise<void> => {
    const body = { sso_required, jit_domains: sso_required ? ["jit.test"] : [] };
    const token = await elevated(app, owner.token);
    expect(outcome(await app.call("PATCH", path, { token, body }))).toBe("200");
  };
  onTestFinished(() => requires(false));
  await requires(true);
  await app.call("POST", "/api/auth/magic-link/send", { body: { email, org_uuid: owner.org } });
  expect((await mailsTo(app, email)).at(-1)?.text).toContain("also joins");
  const token = await tokenTo(app, email);
  const verify = () => app.call("POST", "/api/auth/magic-link/verify", { body: { token } });
  expect(outcome(await verify())).toBe("403 sso_required");
  const members = async () => (await app.call("GET", `/api/users?email=${email}`, { token: owner.token })).body.data;
  expect(await members()).toEqual([]);
  const off = { token: await elevated(app, owner.token), body: { sso_required: false } };
  expect(outcome(await app.call("PATCH", path, off))).toBe("200");
  expect(decodeJwt((await verify()).body.access_token as string)["org"]).toBe(owner.org);
  expect(await members()).toMatchObject([{ role: "employee", status: "active" }]);
});

describe("single sign-on at another organization", () => {
  const switchTo = (token: string, org_uuid: string) =>
    realm.app.call("POST", "/api/auth/switch", { token, body: { org_uuid } });
  const accept = (token: string, bearer: string) =>
    realm.app.call("POST", "/api/auth/invite/accept", { token: bearer, body: { token } });

  /** An organization of somebody who signs in to it by a provider of their own. */
  async function ownRealm(who: Somebody): Promise<Realm> {
    const { app, provider } = realm;
    const made = await connect(app, who, provider.discoveryUrl);
    const own = { ...realm, owner: who, connection: made.body.connection_uuid as string };
    const { cookie, answer } = await callbackOf(own, subject("own"));
    const body = { session_token: sessionTokenOf(answer) };
    const headers = { cookie };
    expect((await app.call("POST", "/api/auth/oidc/link", { token: who.token, body, headers })).status).toBe(204);
    return own;
  }

  it("it may be switched to one that requires single sign-on, but accepts no invitation of such a one", async () => {
    const { app, owner } = realm;
    const who = await founder(app);
    const own = await ownRealm(who);
    const strict = await founder(app);
    await connect(app, strict, realm.provider.discoveryUrl);
    const { token } = await invite(app, owner, who.email);
    expect(outcome(await accept(token, who.token))).toBe("200");
    await require(await elevated(app, owner.token));
    await require(await elevated(app, strict.token), strict.org);

    const session = await signIn(own, subject("own"));
    expect(decodeJwt(session.body.access_token)["amr"]).toEqual(["fed"]);
    expect(outcome(await switchTo(who.token, owner.org))).toBe("403 sso_required");
    expect(outcome(await switchTo(session.body.access_token, owner.org))).toBe("200");
    const invited = await invite(app, strict, who.email);
    expect(outcome(await accept(invited.token, session.body.access_token))).toBe("403 sso_required");
    await require(await elevated(app, owner.token), owner.org, false);
  });
});
