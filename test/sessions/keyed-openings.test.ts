import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, invite, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { cookieOf, PAGE } from "../login/cookie-support.ts";
import { codeAt } from "../mfa/support.ts";
import { signIn, works } from "./support.ts";

const BINARY = "application/x-flatbuffers";

let app: TestApp;
let home: Somebody;
let away: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  [home, away] = [await founder(app), await founder(app)];
});
afterAll(() => app.close());

interface Sent {
  path: string;
  body: unknown;
  token?: string;
  headers?: Record<string, string>;
}

/** Sends a request, and again under the same key. */
async function twice({ path, headers = {}, ...sent }: Sent): Promise<[Answer, Answer]> {
  const keyed = { ...sent, headers: { "idempotency-key": randomUUID(), ...headers } };
  return [await app.call("POST", path, keyed), await app.call("POST", path, keyed)];
}

const replayed = ({ headers }: Answer): boolean => headers.get("idempotent-replayed") === "true";

async function sessionsOf({ userUuid }: Somebody): Promise<number> {
  return (await runSql(app.databaseUrl, "select 1 from sessions where user_uuid = $1", [userUuid])).length;
}

describe("an invitation that is accepted twice under one key", () => {
  it("returns the membership and its tokens again to a signed-in person", async () => {
    const guest = await founder(app);
    const { token: invitation } = await invite(app, home, guest.email);
    const before = await sessionsOf(guest);
    const [first, again] = await twice({
      path: "/api/auth/invite/accept",
      token: guest.token,
      body: { token: invitation },
    });
    expect([first.status, again.status, replayed(again), again.body]).toEqual([200, 200, true, first.body]);
    expect(await works(app, again.body.data.access_token)).toBe(true);
    expect(await sessionsOf(guest)).toBe(before + 1);
  });

  it("keeps the refresh token in the cookie in cookie mode", async () => {
    const guest = await founder(app);
    const { token: invitation } = await invite(app, home, guest.email);
    const [first, again] = await twice({
      path: "/api/auth/invite/accept",
      token: guest.token,
      body: { token: invitation },
      headers: PAGE,
    });
    expect(replayed(again)).toBe(true);
    expect(cookieOf(first)?.value).toMatch(/./u);
    expect(cookieOf(again)).toEqual(cookieOf(first));
    for (const { text } of [first, again]) expect(text).not.toContain("refresh_token");
  });

  it("asks for the second factor again, as JSON to a client that accepts the binary form", async () => {
    const guest = await founder(app);
    const older = await app.login(guest.email, password, guest.orgName);
    const { body } = await app.call("POST", "/api/v1/me/mfa/factors", {
      token: guest.token,
      body: { factor_type: "totp" },
    });
    await app.call("POST", `/api/v1/me/mfa/factors/${body.data.id}/verify`, {
      token: guest.token,
      body: { code: codeAt(body.data.secret as string, app.clock.now()) },
    });
    const { token: invitation } = await invite(app, home, guest.email);
    const [first, again] = await twice({
      path: "/api/auth/invite/accept",
      token: older,
      body: { token: invitation },
      headers: { accept: BINARY },
    });
    expect(first.body.data).toEqual({ mfa_required: true, mfa_token: expect.any(String) });
    expect([again.status, replayed(again), again.headers.get("content-type"), again.body]).toEqual([
      200,
      true,
      "application/json",
      first.body,
    ]);
  });

  it("has no record without a caller", async () => {
    const email = `${randomUUID()}@invited.test`;
    const { token: invitation } = await invite(app, home, email);
    const count = async (): Promise<unknown> =>
      (await runSql(app.databaseUrl, "select count(*)::int as records from idempotency_records"))[0];
    const before = await count();
    const [first, again] = await twice({
      path: "/api/auth/invite/accept",
      body: { token: invitation, ...newcomer() },
    });
    expect([outcome(first), outcome(again), replayed(again)]).toEqual(["200", "400 invitation_expired", false]);
    expect(await count()).toEqual(before);
  });
});

describe("a switch that is repeated under one key", () => {
  it("opens one session in the other organization", async () => {
    const { token: invitation } = await invite(app, away, home.email);
    await app.call("POST", "/api/auth/invite/accept", { body: { token: invitation, password } });
    const { token } = await signIn(app, home);
    const before = await sessionsOf(home);
    const [first, again] = await twice({ path: "/api/auth/switch", token, body: { org_uuid: away.org } });
    expect([first.status, again.status, replayed(again), again.body]).toEqual([200, 200, true, first.body]);
    expect(await sessionsOf(home)).toBe(before + 1);

    const [set, setAgain] = await twice({
      path: "/api/auth/switch",
      token,
      body: { org_uuid: away.org },
      headers: PAGE,
    });
    expect(replayed(setAgain)).toBe(true);
    expect(cookieOf(setAgain)).toEqual(cookieOf(set));
    for (const { text } of [set, setAgain]) expect(text).not.toContain("refresh_token");
  });

  it("opens one session for the other account of the device", async () => {
    const device = randomUUID();
    const { token } = await signIn(app, home, device);
    const proof = await signIn(app, away);
    const { body: account } = await app.call("POST", `/api/devices/${device}/accounts`, {
      token,
      body: { access_token: proof.token },
    });
    const before = await sessionsOf(away);
    const [first, again] = await twice({
      path: `/api/devices/${device}/active-account`,
      token,
      body: { account_id: account.id },
    });
    expect([first.status, again.status, replayed(again), again.body]).toEqual([200, 200, true, first.body]);
    expect(await sessionsOf(away)).toBe(before + 1);
  });
});
