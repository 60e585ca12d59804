import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, member, outcome, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

/** A login without the member, and one with an empty name. */
const FORMS = [{}, { org_name: "" }, { org_name: "  " }];
const login = (email: string, more: object = {}, secret = password) =>
  app.call("POST", "/api/auth/login", { body: { email, password: secret, ...more } });
const orgOf = (token: string): unknown => decodeJwt(token)["org"];

/** Makes a person who exists a member of another organization. */
async function join(who: Somebody, by: Somebody): Promise<void> {
  const { token } = await invite(app, by, who.email);
  const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token, password } });
  if (accepted.status !== 200) throw new Error(`acceptance answered ${accepted.status}`);
}

describe("a password login without organization name", () => {
  it("it enters the only membership", async () => {
    const who = await founder(app);
    for (const form of FORMS) {
      const { status, body } = await login(who.email, form);
      expect([status, body.expires_in, orgOf(body.access_token)]).toEqual([200, 900, who.org]);
    }
  });

  it("it enters the organization last used, and a login with a name changes which one that is", async () => {
    const [who, other] = [await founder(app), await founder(app)];
    await join(who, other);
    app.clock.advance(1_000);
    for (const { orgName, org } of [who, other, who]) {
      expect((await login(who.email, { org_name: orgName })).status).toBe(200);
      app.clock.advance(1_000);
      expect(orgOf((await login(who.email)).body.access_token)).toBe(org);
      app.clock.advance(1_000);
    }
  });

  it("it enters neither an organization that ended nor one that deactivated the person", async () => {
    const [who, other] = [await founder(app), await founder(app)];
    await join(who, other);
    app.clock.advance(1_000);
    await login(who.email, { org_name: other.orgName });
    const path = `/api/users/${who.userUuid}`;
    const deactivated = await app.call("PATCH", path, { token: other.token, body: { status: "inactive" } });
    expect(outcome(deactivated)).toBe("200");
    expect(orgOf((await login(who.email)).body.access_token)).toBe(who.org);
  });

  it("without a membership the token names no organization and opens what needs none", async () => {
    const boss = await founder(app);
    const who = await member(app, boss);
    const removed = await app.call("DELETE", `/api/users/${who.userUuid}`, { token: boss.token });
    expect(removed.status).toBe(204);
    for (const form of FORMS) {
      const { status, body } = await login(who.email, form);
      expect([status, orgOf(body.access_token)]).toEqual([200, ""]);
      const me = await app.call("GET", "/api/auth/me", { token: body.access_token });
      expect(me.body).toMatchObject({ email: who.email, org_uuid: null, roles: [] });
      expect(outcome(await app.call("GET", "/api/roles", { token: body.access_token }))).toBe("403 forbidden");
    }
    expect(outcome(await login(who.email, { org_name: boss.orgName }))).toBe("401 unauthorized");
  });

  it("a wrong password and an unknown person get the same 401, recorded where the login would have entered", async () => {
    const who = await founder(app);
    const [wrong, unknown] = [
      await login(who.email, {}, "not the password"),
      await login("nobody@people.test", {}, "not the password"),
    ];
    expect([outcome(wrong), wrong.body.message]).toEqual([outcome(unknown), unknown.body.message]);
    const events = await auditOf(app, who, "login.password");
    expect(events.filter((one) => one["outcome"] === "failure")).toHaveLength(1);
  });

  it("the second factor is asked for and completes into the same organization", async () => {
    const who = await founder(app);
    await runSql(app.databaseUrl, "update people set email_confirmed_at = created_at where uuid = $1", [who.userUuid]);
    const path = "/api/v1/me/mfa/factors";
    const { body } = await app.call("POST", path, { token: who.token, body: { factor_type: "totp" } });
    const { id, secret } = body.data as { id: number; secret: string };
    const code = () => ({ code: codeAt(secret, app.clock.now()) });
    await app.call("POST", `${path}/${id}/verify`, { token: who.token, body: code() });
    app.clock.advance(30_000);
    const first = await login(who.email);
    expect(first.body.mfa_required).toBe(true);
    const challenge = { mfa_token: first.body.mfa_token, ...code() };
    const done = await app.call("POST", "/api/auth/mfa/totp/challenge", { body: challenge });
    expect(orgOf(done.body.access_token)).toBe(who.org);
  });

  it("a reset password opens the same doors", async () => {
    const who = await founder(app);
    await app.call("POST", "/api/auth/password/forgot", { body: { email: who.email } });
    const token = await tokenTo(app, who.email);
    const wanted = "another long enough one";
    await app.call("POST", "/api/auth/password/reset", { body: { token, password: wanted } });
    expect(orgOf((await login(who.email, {}, wanted)).body.access_token)).toBe(who.org);
  });
});
