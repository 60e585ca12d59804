import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { openIdentity } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
});
afterAll(() => identity.close());

const unauthorized = { status: 401, code: "unauthorized" };
const refresh = (token: string, on: Pick<Identity, "sessions"> = identity) =>
  on.sessions.refresh(identity.anonymous(), token);

describe("refresh", () => {
  it("gives the next pair of the same session", async () => {
    const first = await identity.loginOwner();
    const second = await refresh(first.refreshToken);
    expect(second).toMatchObject({ sessionId: first.sessionId, deviceUuid: first.deviceUuid, expiresIn: 420 });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(decodeJwt(second.accessToken)).toMatchObject({ sid: first.sessionId, amr: ["pwd"] });
    await expect(identity.me(second.accessToken)).resolves.toBeDefined();
  });

  it("takes roles and apps as they are now", async () => {
    await identity.setOwnership(false);
    const demoted = await identity.loginOwner();
    const apps = await identity.publishApps(1);
    expect((await identity.me(demoted.accessToken)).appAdmin).toEqual([]);
    const second = await refresh(demoted.refreshToken);
    expect((await identity.me(second.accessToken)).appAdmin).toEqual(apps);
    await identity.setOwnership(true);
  });

  it("gives the same successor again within ten seconds", async () => {
    const { refreshToken } = await identity.loginOwner();
    const first = await refresh(refreshToken);
    identity.clock.advance(10_000);
    const again = await refresh(refreshToken);
    expect(again.refreshToken).toBe(first.refreshToken);
    await expect(refresh(first.refreshToken)).resolves.toBeDefined();
  });

  it("ends the session when a used token comes back later", async () => {
    const { refreshToken, sessionId } = await identity.loginOwner();
    const successor = await refresh(refreshToken);
    identity.clock.advance(10_001);
    await expect(refresh(refreshToken)).rejects.toMatchObject(unauthorized);
    await expect(identity.me(successor.accessToken)).rejects.toMatchObject(unauthorized);
    await expect(refresh(successor.refreshToken)).rejects.toMatchObject(unauthorized);
    const events = await identity.sql(
      "select metadata from auth_events where type = 'session.revoked' and metadata->>'session_id' = $1",
      [sessionId],
    );
    expect(events).toEqual([{ metadata: { session_id: sessionId, reason: "refresh_reuse" } }]);
    const failures = await identity.sql(
      "select distinct user_uuid is null or org_uuid is null as nobodys from auth_events where type = 'token.refreshed' and outcome = 'failure'",
    );
    expect(failures).toEqual([{ nobodys: false }]);
  });

  it("has one successor however many use it at once, over two instances", async () => {
    const { refreshToken, sessionId } = await identity.loginOwner();
    const other = identity.another();
    const pairs = await Promise.all(
      Array.from({ length: 30 }, (_, at) => refresh(refreshToken, at % 2 === 0 ? identity : other)),
    );
    expect(new Set(pairs.map((pair) => pair.refreshToken)).size).toBe(1);
    expect(
      await identity.sql("select 1 from refresh_tokens where session_uuid = $1 and used_at is null", [sessionId]),
    ).toHaveLength(1);
  });

  it("refuses a token after seven idle days, and every one after thirty", async () => {
    const idle = await identity.loginOwner();
    identity.clock.advance(7 * 86_400_000);
    await expect(refresh(idle.refreshToken)).rejects.toMatchObject(unauthorized);
    let pair = await identity.loginOwner();
    for (let day = 0; day < 24; day += 6) {
      identity.clock.advance(6 * 86_400_000);
      pair = { ...pair, ...(await refresh(pair.refreshToken)) };
    }
    identity.clock.advance(6 * 86_400_000);
    await expect(refresh(pair.refreshToken)).rejects.toMatchObject(unauthorized);
  });

  it("refuses what it never gave, and what was logged out", async () => {
    await expect(refresh("no such token")).rejects.toMatchObject(unauthorized);
    const pair = await identity.loginOwner();
    await identity.sessions.own.logout(identity.context(await identity.me(pair.accessToken)));
    await expect(refresh(pair.refreshToken)).rejects.toMatchObject(unauthorized);
  });

  it("leaves nothing behind thirty days after the session's end", async () => {
    const { sessionId } = await identity.loginOwner();
    await identity.login.magicLink.send(identity.anonymous(), { email: "old@acme.test" });
    identity.clock.advance(37 * 86_400_000 - 1);
    await identity.sessions.tidy.sessions();
    expect(await identity.sql("select 1 from sessions where uuid = $1", [sessionId])).toHaveLength(1);
    identity.clock.advance(2);
    expect(await identity.sessions.tidy.sessions()).toBeGreaterThan(0);
    expect(await identity.sql("select 1 from refresh_tokens where session_uuid = $1", [sessionId])).toEqual([]);
    expect(await identity.login.tidy.mailedTokens()).toBe(1);
  });

  it("refuses when the membership has ended", async () => {
    const made = await identity.login.signUp.signUp(identity.context(undefined), {
      name: "Ended",
      email: "e@ended.test",
      password: "a long enough one",
      firstName: "Ann",
    });
    await identity.sql("update memberships set status = 'inactive' where user_uuid = $1", [made.userUuid]);
    await expect(refresh(made.refreshToken)).rejects.toMatchObject(unauthorized);
  });
});
