import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { auditOf, elevated, founder, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { cookieOf, PAGE } from "../login/cookie-support.ts";
import { signIn, works } from "./support.ts";
import type { Held } from "./support.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let second: TestApp;
let home: Somebody;
let away: Somebody;
let held: Held;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" }, log });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, log });
  [home, away] = [await founder(app), await founder(app)];
  const { token } = await invite(app, away, home.email);
  const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token, password } });
  if (accepted.status !== 200) throw new Error(`acceptance answered ${accepted.status}`);
});
afterAll(async () => {
  await second.close();
  await app.close();
});
beforeEach(async () => {
  app.clock.advance(10);
  held = await signIn(app, home);
});

const switchTo = (org: string, token = held.token, on = app): Promise<Answer> =>
  on.call("POST", "/api/auth/switch", { token, body: { org_uuid: org } });
const refresh = (token: string) => app.call("POST", "/api/auth/refresh", { body: { refresh_token: token } });

describe("POST /api/auth/switch", () => {
  it("it opens a session in another organization of the person, with the proofs of the present one", async () => {
    app.clock.advance(5_000);
    const { status, body } = await switchTo(away.org.toUpperCase());
    expect([status, Object.keys(body).sort()]).toEqual([
      200,
      ["access_token", "device_uuid", "expires_in", "org_name", "org_uuid", "refresh_token", "token_type"],
    ]);
    expect(body).toMatchObject({ org_uuid: away.org, org_name: away.orgName, expires_in: 420, token_type: "Bearer" });
    expect(body.device_uuid).toBe(held.device);
    const [before, after] = [decodeJwt(held.token), decodeJwt(body.access_token)];
    expect(after).toMatchObject({
      sub: before.sub,
      org: away.org,
      amr: ["pwd"],
      auth_time: before["auth_time"],
      roles: ["employee"],
    });
    expect(after["sid"]).not.toBe(before["sid"]);
    expect((await refresh(body.refresh_token)).status).toBe(200);
    expect(await works(app, held.token)).toBe(true);
    const [event] = await auditOf(app, await fresh(away), "session.switched");
    expect(event).toMatchObject({ user_uuid: home.userUuid });
    expect(event?.metadata).toEqual({ session_id: after["sid"], source_session_id: held.sid });
  });

  it.each([
    ["an unknown organization", () => randomUUID()],
    ["an organization of others", async () => (await founder(app)).org],
  ])("%s is 404 org_not_found", async (_what, org) => {
    expect(outcome(await switchTo(await org()))).toBe("404 org_not_found");
  });

  it("a membership that is inactive or removed is 404 org_not_found", async () => {
    const who = await founder(app);
    const { token } = await invite(app, await fresh(away), who.email);
    await app.call("POST", "/api/auth/invite/accept", { body: { token, password } });
    const mine = (await signIn(app, who)).token;
    const path = `/api/users/${who.userUuid}`;
    await app.call("PATCH", path, { token: (await fresh(away)).token, body: { status: "inactive" } });
    expect(outcome(await switchTo(away.org, mine))).toBe("404 org_not_found");
    await app.call("DELETE", path, { token: (await fresh(away)).token });
    expect(outcome(await switchTo(away.org, mine))).toBe("404 org_not_found");
  });

  it("the present organization is 409, and a malformed id 400", async () => {
    expect(outcome(await switchTo(home.org))).toBe("409 conflict");
    expect(outcome(await switchTo(home.org.toUpperCase()))).toBe("409 conflict");
    for (const body of [{}, { org_uuid: "" }, { org_uuid: "x" }, { org_uuid: null }, { org_uuid: 1 }])
      expect((await app.call("POST", "/api/auth/switch", { token: held.token, body })).status).toBe(400);
    expect(outcome(await app.call("POST", "/api/auth/switch", { body: { org_uuid: away.org } }))).toBe(
      "401 unauthorized",
    );
  });

  it("a token without organization switches too, and ends with its link", async () => {
    const who = await founder(app);
    await runSql(app.databaseUrl, "update memberships set status = 'inactive' where user_uuid = $1", [who.userUuid]);
    const sent = await app.call("POST", "/api/auth/magic-link/send", { body: { email: who.email } });
    const { body } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.body.dev_token } });
    expect(decodeJwt(body.access_token)["org"]).toBe("");
    await runSql(app.databaseUrl, "update memberships set status = 'active' where user_uuid = $1", [who.userUuid]);
    const switched = await switchTo(who.org, body.access_token);
    expect(outcome(switched)).toBe("200");
    expect(decodeJwt(switched.body.access_token)).toMatchObject({ org: who.org, amr: ["mail"] });
    app.clock.advance(86_400_000);
    expect(outcome(await refresh(switched.body.refresh_token))).toBe("401 unauthorized");
  });

  it("an API key is 403", async () => {
    const owner = await fresh(home);
    const keys = `/api/admin/organizations/${home.org}/api-keys`;
    const { body } = await app.call("POST", keys, { token: owner.token, body: { name: "k", scopes: ["admin"] } });
    expect(outcome(await switchTo(away.org, body.api_key))).toBe("403 forbidden");
  });

  it("an elevated token gives no elevated one", async () => {
    const { body } = await switchTo(away.org, await elevated(app, held.token));
    expect(decodeJwt(body.access_token)["acr"]).toBeUndefined();
  });

  it("where single sign-on is required it is 403 sso_required, except for owners", async () => {
    const require = (org: string, value: boolean) =>
      runSql(app.databaseUrl, "update organizations set sso_required = $2 where uuid = $1", [org, value]);
    await require(away.org, true);
    await require(home.org, true);
    try {
      expect(outcome(await switchTo(away.org))).toBe("403 sso_required");
      // By whichever provider it was, the person has not linked it.
      await runSql(app.databaseUrl, "update sessions set amr = '{fed}' where uuid = $1", [held.sid]);
      expect(outcome(await switchTo(away.org))).toBe("403 link_required");
      await runSql(app.databaseUrl, "update sessions set amr = '{pwd}' where uuid = $1", [held.sid]);
      await require(away.org, false);
      const entered = await switchTo(away.org);
      expect(outcome(await switchTo(home.org, entered.body.access_token))).toBe("200");
    } finally {
      await require(away.org, false);
      await require(home.org, false);
    }
  });

  it("in cookie mode the refresh token is in the cookie alone", async () => {
    const body = { org_uuid: away.org };
    const answer = await app.call("POST", "/api/auth/switch", { token: held.token, body, headers: PAGE });
    expect(answer.text).not.toContain("refresh_token");
    expect(cookieOf(answer)?.value).toMatch(/./u);
  });
});

describe("the session that switching opened", () => {
  it("it ends with the session it comes from, over several switches", async () => {
    const there = (await switchTo(away.org)).body;
    const back = (await switchTo(home.org, there.access_token)).body;
    expect((await app.call("POST", "/api/auth/logout", { token: held.token })).status).toBe(204);
    for (const { access_token, refresh_token } of [there, back]) {
      expect(await works(app, access_token)).toBe(false);
      expect(outcome(await refresh(refresh_token))).toBe("401 unauthorized");
    }
    expect(outcome(await switchTo(away.org))).toBe("401 unauthorized");
  });

  it("it stays when its own token ends all sessions but it, the first of its line too", async () => {
    const there = (await switchTo(away.org)).body;
    const back = (await switchTo(home.org, there.access_token)).body;
    const answer = await app.call("DELETE", `/api/organizations/${home.org}/session-inventory`, {
      token: await elevated(app, back.access_token),
      body: { exclude_current: true },
    });
    expect(outcome(answer)).toBe("200");
    for (const token of [held.token, there.access_token]) expect(await works(app, token)).toBe(false);
    expect(await works(app, back.access_token)).toBe(true);
    expect(outcome(await refresh(back.refresh_token))).toBe("200");
  });

  it("it stays when its own token ends all sessions but it, one in the middle of its line too", async () => {
    const there = (await switchTo(away.org)).body;
    const back = (await switchTo(home.org, there.access_token)).body;
    const again = (await switchTo(away.org, back.access_token)).body;
    await runSql(app.databaseUrl, "update memberships set is_owner = true where user_uuid = $1 and org_uuid = $2", [
      home.userUuid,
      away.org,
    ]);
    const answer = await app.call("DELETE", `/api/organizations/${away.org}/session-inventory`, {
      token: await elevated(app, again.access_token),
      body: { exclude_current: true },
    });
    await runSql(app.databaseUrl, "update memberships set is_owner = false where user_uuid = $1 and org_uuid = $2", [
      home.userUuid,
      away.org,
    ]);
    expect(outcome(answer)).toBe("200");
    const tokens = [held.token, there.access_token, back.access_token, again.access_token];
    expect(await Promise.all(tokens.map((token) => works(app, token)))).toEqual([true, false, false, true]);
  });

  it("it ends with the one it comes from after its own token has ended unrelated sessions", async () => {
    const { access_token: token } = (await switchTo(away.org)).body;
    const elsewhere = await signIn(app, home);
    const path = `/api/devices/${elsewhere.device}/revoke-all`;
    expect((await app.call("POST", path, { token, body: { exclude_current: true } })).body).toEqual({ revoked: 1 });
    expect([await works(app, elsewhere.token), await works(app, token)]).toEqual([false, true]);
    await app.call("POST", "/api/auth/logout", { token: held.token });
    expect(await works(app, token)).toBe(false);
  });

  it("it does not renew the absolute limit", async () => {
    const DAY_MS = 86_400_000;
    let mine = held.refreshToken;
    for (let day = 0; day < 29; day += 5) {
      app.clock.advance(5 * DAY_MS);
      const renewed = await refresh(mine);
      if (renewed.status !== 200) break;
      mine = renewed.body.refresh_token as string;
      held = { ...held, token: renewed.body.access_token as string };
      if (day === 20) break;
    }
    const { body } = await switchTo(away.org);
    app.clock.advance(4 * DAY_MS);
    const last = await refresh(body.refresh_token);
    expect(outcome(last)).toBe("200");
    app.clock.advance(DAY_MS + 1);
    expect(outcome(await refresh(last.body.refresh_token))).toBe("401 unauthorized");
  });

  it("fifty parallel switches leave no session when everything is revoked beside them", async () => {
    for (let round = 0; round < 3; round++) {
      const mine = await signIn(app, home);
      const admin = await elevated(app, (await signIn(app, home)).token);
      const calls = Array.from({ length: 50 }, async (_, at) => {
        await new Promise((resolve) => setTimeout(resolve, at));
        return switchTo(away.org, mine.token, at % 2 === 0 ? app : second);
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      const end = () => app.call("POST", `/api/organizations/${home.org}/revoke-all-sessions`, { token: admin });
      let ended = await end();
      // 503: the connections of the organization were all waiting for the session's row.
      while (ended.status === 503) ended = await end();
      expect(outcome(ended)).toBe("200");
      const answers = await Promise.all(calls);
      const others = answers.map(outcome).filter((one) => !/^(?:200|401 unauthorized|503 unavailable)$/u.test(one));
      expect(others).toEqual([]);
      const given = answers.filter(({ status }) => status === 200).map(({ body }) => body.access_token as string);
      expect((await Promise.all(given.map((token) => works(app, token)))).filter(Boolean)).toEqual([]);
    }
    expect(deadlocks).toEqual([]);
  });
});

/** Somebody with a token of now. */
async function fresh(who: Somebody): Promise<Somebody> {
  return { ...who, token: (await signIn(app, who)).token };
}
