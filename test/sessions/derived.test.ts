import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, founder, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { held, signIn, works } from "./support.ts";
import type { Held } from "./support.ts";

const day = 24 * 60 * 60 * 1000;
let app: TestApp;
let second: TestApp;
let ann: Somebody;
let bob: Somebody;
let device: string;
let anns: Held;
let bobs: Held;
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
  [ann, bob] = [await founder(app), await founder(app)];
});
afterAll(async () => {
  await second.close();
  await app.close();
});
beforeEach(async () => {
  device = randomUUID();
  [anns, bobs] = [await signIn(app, ann, device), await signIn(app, bob)];
});

/** Ann adds the account behind a token. */
async function added(proof: string): Promise<string> {
  const answer = await app.call("POST", `/api/devices/${device}/accounts`, {
    token: anns.token,
    body: { access_token: proof },
  });
  return answer.body.id as string;
}

const switchTo = (id: string, token = anns.token) =>
  app.call("POST", `/api/devices/${device}/active-account`, { token, body: { account_id: id } });
const refresh = (refreshToken: string) =>
  app.call("POST", "/api/auth/refresh", { body: { refresh_token: refreshToken } });
const logout = (token: string) => app.call("POST", "/api/auth/logout", { token });

/** Ann switches to the account behind a token. */
async function derived(proof = bobs.token): Promise<Held> {
  return held((await switchTo(await added(proof))).body, device);
}

/** Ann's own account on the device, which a switch opens another session of. */
async function ownAccount(token = anns.token): Promise<string> {
  const { body } = await app.call("GET", `/api/devices/${device}/accounts`, { token });
  return body.data[0].id as string;
}

describe("a session opened by switching accounts", () => {
  it("a derived session and its refresh token are refused right after its account's session ended", async () => {
    const session = await derived();
    expect([await works(app, session.token), await works(second, session.token)]).toEqual([true, true]);
    expect((await logout(bobs.token)).status).toBe(204);
    expect([await works(second, session.token), await works(app, session.token)]).toEqual([false, false]);
    expect(outcome(await refresh(session.refreshToken))).toBe("401 unauthorized");
    expect(await works(app, anns.token)).toBe(true);
  });

  it.each([
    [
      "its revocation by an administrator",
      () => app.call("DELETE", `/api/organizations/${bob.org}/session-inventory/${bobs.sid}`, { token: bob.token }),
    ],
    [
      "the reuse of its refresh token",
      async () => {
        await refresh(bobs.refreshToken);
        app.clock.advance(60_000);
        return refresh(bobs.refreshToken);
      },
    ],
    [
      "a change of the password elsewhere",
      async () => {
        const other = await signIn(app, bob);
        const answer = await app.call("PUT", "/api/profile/password", {
          token: other.token,
          body: { current_password: password, new_password: `${password}!` },
        });
        await app.call("PUT", "/api/profile/password", {
          token: other.token,
          body: { current_password: `${password}!`, new_password: password },
        });
        return answer;
      },
    ],
  ])("a derived session ends with its account's session by %s", async (_what, end) => {
    const session = await derived();
    await end();
    expect([await works(app, bobs.token), await works(app, session.token)]).toEqual([false, false]);
    bob = { ...bob, token: (await signIn(app, bob)).token };
  });

  it("a derived session ends when the organization of its account ends all sessions but another", async () => {
    const session = await derived();
    const spared = await signIn(app, bob);
    const { body: challenge } = await app.call("POST", "/api/auth/step-up/challenge", {
      token: spared.token,
      body: { method: "password" },
    });
    const { body } = await app.call("POST", "/api/auth/step-up/verify", {
      token: spared.token,
      body: { challenge_id: challenge.challenge_id, password },
    });
    const all = await app.call("POST", `/api/organizations/${bob.org}/revoke-all-sessions`, {
      token: body.elevated_token,
      body: { exclude_current: true },
    });
    expect(all.status).toBe(200);
    expect([await works(app, session.token), await works(app, spared.token)]).toEqual([false, true]);
    bob = { ...bob, token: spared.token };
  });

  it("a derived session keeps the absolute end and the time of the sign-in over refreshes", async () => {
    const absoluteEnd = app.clock.now() + 30 * day;
    let source = bobs;
    app.clock.advance(60_000);
    let session = await derived();
    expect(decodeJwt(session.token)["auth_time"]).toBe(decodeJwt(bobs.token)["auth_time"]);
    for (let week = 0; week < 5; week++) {
      app.clock.advance(6 * day - 60_000);
      if (app.clock.now() >= absoluteEnd) break;
      const [first, next] = [await refresh(source.refreshToken), await refresh(session.refreshToken)];
      [source, session] = [held(first.body, device), held(next.body, device)];
      expect(decodeJwt(session.token)["auth_time"]).toBe(decodeJwt(bobs.token)["auth_time"]);
    }
    expect(outcome(await refresh(session.refreshToken))).toMatch(/^200$/u);
    app.clock.advance(absoluteEnd - app.clock.now());
    expect(await works(app, session.token)).toBe(false);
    expect(outcome(await refresh(session.refreshToken))).toBe("401 unauthorized");
  });

  it("a derived session ends with the token of a magic-link session, and is not extended beyond it", async () => {
    const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: `${randomUUID()}@links.test` },
    });
    const { body: link } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } });
    app.clock.advance(day - 600_000);
    anns = held((await refresh(anns.refreshToken)).body, device);
    const session = await derived(link.access_token as string);
    app.clock.advance(400_000);
    const renewed = held((await refresh(session.refreshToken)).body, device);
    expect(await works(app, renewed.token)).toBe(true);
    app.clock.advance(200_000);
    expect([await works(app, renewed.token), await works(app, link.access_token as string)]).toEqual([false, false]);
    expect(outcome(await refresh(renewed.refreshToken))).toBe("401 unauthorized");
  });

  it("a derived session that is in use ends when its account's session expires idle", async () => {
    let session = await derived();
    app.clock.advance(6 * day);
    session = held((await refresh(session.refreshToken)).body, device);
    app.clock.advance(day);
    expect(await works(app, session.token)).toBe(false);
    expect(outcome(await refresh(session.refreshToken))).toBe("401 unauthorized");
  });

  it("a derived session lasts for its own idle time when its account's session is refreshed meanwhile", async () => {
    let session = await derived();
    app.clock.advance(5 * day);
    session = held((await refresh(session.refreshToken)).body, device);
    app.clock.advance(day);
    bobs = held((await refresh(bobs.refreshToken)).body, bobs.device);
    app.clock.advance(5 * day);
    expect((await refresh(session.refreshToken)).status).toBe(200);
  });

  it("the end of a derived session ends those derived from it", async () => {
    const own = held((await switchTo(await ownAccount())).body, device);
    const further = held((await switchTo(await ownAccount(own.token), own.token)).body, device);
    expect(await works(app, further.token)).toBe(true);
    await logout(anns.token);
    expect([await works(app, own.token), await works(app, further.token)]).toEqual([false, false]);
  });

  it("the end of a derived session is recorded in the log of its own organization", async () => {
    const cause = { outcome: "success", metadata: { reason: "source_ended" } };
    const one = await derived();
    await logout(bobs.token);
    bobs = await signIn(app, bob);
    const [event] = await auditOf(app, { token: bobs.token, org: bob.org }, "session.revoked");
    expect(event).toMatchObject({
      ...cause,
      actor: { id: bob.userUuid },
      resource_id: one.sid,
      metadata: { session_id: one.sid },
    });
    const own = held((await switchTo(await ownAccount())).body, device);
    const further = held((await switchTo(await ownAccount(own.token), own.token)).body, device);
    ann = { ...ann, token: (await signIn(app, ann)).token };
    expect(
      (await app.call("DELETE", `/api/organizations/${ann.org}/session-inventory/${anns.sid}`, { token: ann.token }))
        .status,
    ).toBe(204);
    const told = (await auditOf(app, ann, "session.revoked"))
      .slice(0, 3)
      .map(({ resource_id, metadata }) => [resource_id, metadata["reason"]]);
    expect(told.toSorted()).toEqual(
      [
        [anns.sid, "revoked"],
        [own.sid, "source_ended"],
        [further.sid, "source_ended"],
      ].toSorted(),
    );
  });

  it("a derived session stays when all sessions but it are ended with its own token", async () => {
    const own = held((await switchTo(await ownAccount())).body, device);
    const answer = await app.call("POST", `/api/devices/${device}/revoke-all`, {
      token: own.token,
      body: { exclude_current: true },
    });
    expect(answer.body).toEqual({ revoked: 1 });
    expect([await works(app, anns.token), await works(app, own.token)]).toEqual([false, true]);
  });

  it("a derived session does not open concurrently with the end of its account's session", async () => {
    const account = await added(bobs.token);
    const end = await holding(app.databaseUrl);
    await end.run("update sessions set revoked_at = $2 where uuid = $1", [bobs.sid, new Date(app.clock.now())]);
    const switching = switchTo(account);
    await end.waitedFor();
    await end.commit();
    expect(outcome(await switching)).toBe("401 unauthorized");
  });

  it("the end of its account's session that waited for a derived session to open ends it", async () => {
    const account = await added(bobs.token);
    const [switched] = await Promise.all([switchTo(account), switchTo(account), logout(bobs.token)]);
    const [row] = await runSql<{ n: number }>(
      app.databaseUrl,
      "select count(*)::int as n from sessions where source_uuid = $1 and revoked_at is null",
      [bobs.sid],
    );
    expect(row?.n).toBe(0);
    if (switched.status === 200) expect(await works(app, switched.body.access_token as string)).toBe(false);
  });
});

describe("a session opened with the token of another", () => {
  it.each([
    [
      "a further organization",
      (token: string) => app.call("POST", "/api/organizations", { token, body: { name: `Further ${randomUUID()}` } }),
    ],
    [
      "an accepted invitation",
      async (token: string, email: string) => {
        const { token: invitation } = await invite(app, ann, email);
        const answer = await app.call("POST", "/api/auth/invite/accept", { token, body: { token: invitation } });
        return { ...answer, status: answer.status + 1, body: answer.body.data };
      },
    ],
  ])(
    "a session opened by %s does not outlast the other's absolute end, and stays when the other ends",
    async (_what, open) => {
      const email = `${randomUUID()}@links.test`;
      ann = { ...ann, token: anns.token };
      const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", { body: { email } });
      const { body: link } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } });
      const answer = await open(link.access_token as string, email);
      expect(answer.status).toBe(201);
      const opened = held(answer.body, device);
      await logout(link.access_token as string);
      expect(await works(app, opened.token)).toBe(true);
      app.clock.advance(day - 60_000);
      const renewed = held((await refresh(opened.refreshToken)).body, device);
      expect(await works(app, renewed.token)).toBe(true);
      app.clock.advance(60_000);
      expect(await works(app, renewed.token)).toBe(false);
      expect(outcome(await refresh(renewed.refreshToken))).toBe("401 unauthorized");
    },
  );
});
