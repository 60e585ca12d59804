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
  it("refresh returns the next pair of the same session", async () => {
    const first = await identity.loginOwner();
    const second = await refresh(first.refreshToken);
    expect(second).toMatchObject({ sessionId: first.sessionId, deviceUuid: first.deviceUuid, expiresIn: 420 });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(decodeJwt(second.accessToken)).toMatchObject({ sid: first.sessionId, amr: ["pwd"] });
    await expect(identity.me(second.accessToken)).resolves.toBeDefined();
  });

  it("refresh uses the present roles and apps", async () => {
    await identity.setOwnership(false);
    const demoted = await identity.loginOwner();
    const apps = await identity.publishApps(1);
    expect((await identity.me(demoted.accessToken)).appAdmin).toEqual([]);
    const second = await refresh(demoted.refreshToken);
    expect((await identity.me(second.accessToken)).appAdmin).toEqual(apps);
    await identity.setOwnership(true);
  });

  it("refresh returns the same successor again within ten seconds", async () => {
    const { refreshToken } = await identity.loginOwner();
    const first = await refresh(refreshToken);
    identity.clock.advance(10_000);
    const again = await refresh(refreshToken);
    expect(again.refreshToken).toBe(first.refreshToken);
    await expect(refresh(first.refreshToken)).resolves.toBeDefined();
  });

  it("refresh with a token used before the grace period ends the session", async () => {
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
      `select distinct user_uuid is null or org_uuid is null as nobodys from auth_events
       where type = 'token.refreshed' and outcome = 'failure'`,
    );
    expect(failures).toEqual([{ nobodys: false }]);
  });

  it("concurrent refreshes on two instances return one successor", async () => {
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

  it("refresh refuses a token after seven idle days, and every token after thirty days", async () => {
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

  it("refresh refuses an unknown token, and one of an ended session", async () => {
    await expect(refresh("no such token")).rejects.toMatchObject(unauthorized);
    const pair = await identity.loginOwner();
    await identity.sessions.own.logout(identity.context(await identity.me(pair.accessToken)));
    await expect(refresh(pair.refreshToken)).rejects.toMatchObject(unauthorized);
  });

  it("tidying deletes a session thirty days after its end", async () => {
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

  it("tidying keeps a session that was refreshed until thirty days after its new end", async () => {
    const pair = await identity.loginOwner();
    const rows = () =>
      identity.sql("select purge_check_at = expires_at as postponed from sessions where uuid = $1", [pair.sessionId]);
    const day = 86_400_000;
    identity.clock.advance(6 * day);
    await refresh(pair.refreshToken);
    // As an instance of an earlier version stores a session.
    await identity.sql("update sessions set purge_check_at = default where uuid = $1", [pair.sessionId]);
    // 7 days of the refreshed session, and 30 in which it is kept.
    identity.clock.advance((7 + 30) * day - 1_000);
    // The first run postpones the session; the second must not find it again.
    for (let run = 0; run < 2; run++) await identity.sessions.tidy.sessions();
    expect(await rows()).toEqual([{ postponed: true }]);
    identity.clock.advance(2_000);
    await identity.sessions.tidy.sessions();
    expect(await rows()).toEqual([]);
  });

  it("no index of sessions covers a column that a refresh changes, so that a refresh writes none of them", async () => {
    const indexed = await identity.sql(
      `select c.relname, a.attname from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_attribute a on a.attrelid = i.indrelid
         and (a.attnum = any (i.indkey) or pg_get_indexdef(i.indexrelid) ~ ('\\m' || a.attname || '\\M'))
       where i.indrelid = 'sessions'::regclass and a.attname in ('expires_at', 'idle_until', 'last_seen_at')`,
    );
    expect(indexed).toEqual([]);
  });

  it("refresh is refused when the membership has ended", async () => {
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
