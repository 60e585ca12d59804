import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { auditOf, founder, invite, mailsTo, member, outcome, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let leaving: Somebody;
let staying: Somebody;
let directory: Directory;
let other: Directory;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  [leaving, staying] = [await founder(app), await founder(app)];
  [directory, other] = [await directoryOf(app, leaving), await directoryOf(app, staying)];
});
afterAll(() => app.close());

/** What somebody holds in one organization. */
interface Held {
  session: string;
  refreshToken: string;
  apiKey: string;
}

/** A member of both organizations, an admin of each. */
interface Shared {
  id: string;
  email: string;
}

let made = 0;

/** Somebody whom the directory invites, and who works elsewhere already. */
async function invitedByDirectory(): Promise<Shared> {
  const { email, token } = await member(app, staying, 1);
  const { id } = await directory.user({ userName: email });
  const body = { token: await tokenTo(app, email) };
  expect(outcome(await app.call("POST", "/api/auth/invite/accept", { token, body }))).toBe("200");
  return { id: id as string, email };
}

/** Somebody whom the directory has made, and who then joins the other organization. */
async function madeByDirectory(): Promise<Shared> {
  const email = `shared${++made}@people.test`;
  const { id } = await directory.user({ userName: email });
  await app.call("POST", "/api/auth/password/forgot", { body: { email } });
  const reset = { token: await tokenTo(app, email), password };
  expect(outcome(await app.call("POST", "/api/auth/password/reset", { body: reset }))).toBe("204");
  const { token } = await invite(app, staying, email, 1);
  const bearer = await app.login(email, password, leaving.orgName);
  expect(outcome(await app.call("POST", "/api/auth/invite/accept", { token: bearer, body: { token } }))).toBe("200");
  return { id: id as string, email };
}

/** A login at an organization, with an API key of it. */
async function hold({ email }: Shared, { org, orgName }: Somebody): Promise<Held> {
  const { body } = await app.call("POST", "/api/auth/login", { body: { email, password, org_name: orgName } });
  const key = await app.call("POST", `/api/admin/organizations/${org}/api-keys`, {
    token: body.access_token,
    body: { name: "k", scopes: ["read:users"] },
  });
  expect(key.status, key.text).toBe(201);
  return { session: body.access_token, refreshToken: body.refresh_token, apiKey: key.body.api_key };
}

/** What the session, the refresh token and the key of an organization are answered. */
async function answers({ session, refreshToken, apiKey }: Held): Promise<number[]> {
  const me = await app.call("GET", "/api/auth/me", { token: session });
  const refreshed = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: refreshToken } });
  const users = await app.call("GET", "/api/users", { token: apiKey });
  return [me.status, refreshed.status, users.status];
}

/** What the person, and the other organization, see of the person. */
async function seen({ id, email }: Shared, { session }: Held): Promise<unknown[]> {
  const { body: listed } = await app.call("GET", `/api/users?email=${email}`, { token: staying.token });
  const profile = await app.call("GET", "/api/profile", { token: session });
  const user = await other.call("GET", `/Users/${id}`);
  expect([listed.total, profile.status, user.status]).toEqual([1, 200, 200]);
  return [listed, profile.body, user.body, user.headers.get("etag")];
}

const off = (id: string): Promise<Answer> =>
  directory.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
const remove = (id: string): Promise<Answer> => directory.call("DELETE", `/Users/${id}`);

describe.each([
  ["made", madeByDirectory],
  ["invited", invitedByDirectory],
])("a member of two organizations whom a directory %s", (_how, arrive) => {
  test("keeps name and address when the directory changes them", async () => {
    const who = await arrive();
    const held = await hold(who, staying);
    const before = await seen(who, held);
    const moved = `moved${++made}@evil.test`;
    const value = { userName: moved, name: { givenName: "Mal", familyName: "Lory" }, emails: [{ value: moved }] };
    const changed = await directory.patch(`/Users/${who.id}`, { op: "replace", value });
    expect([changed.status, changed.body.userName]).toEqual([200, moved]);
    const whole = await directory.call("PUT", `/Users/${who.id}`, { ...value, displayName: "Mal" });
    expect([whole.status, whole.body.displayName]).toEqual([200, "Mal"]);
    expect(await seen(who, held)).toEqual(before);
    expect(await mailsTo(app, moved)).toEqual([]);
  });

  test.each([
    ["active false", off],
    ["DELETE", remove],
  ])("loses by %s what belongs to that organization, and nothing of the other one", async (_what, end) => {
    const who = await arrive();
    const promoted = await app.call("PUT", `/api/users/${who.id}/role`, {
      token: leaving.token,
      body: { role: "admin" },
    });
    expect(promoted.status, promoted.text).toBe(200);
    const [lost, kept] = [await hold(who, leaving), await hold(who, staying)];
    const before = await seen(who, kept);
    const [ended, told] = await Promise.all(
      [leaving, staying].map(async (by) => (await auditOf(app, by, "session.bulk_revoked")).length),
    );
    expect(refusal(await end(who.id))).toMatch(/^20[04]$/u);
    expect(await answers(lost)).toEqual([401, 401, 401]);
    expect(await answers(kept)).toEqual([200, 200, 200]);
    expect(await seen(who, kept)).toEqual(before);
    expect(await auditOf(app, leaving, "session.bulk_revoked")).toHaveLength((ended ?? 0) + 1);
    expect(await auditOf(app, staying, "session.bulk_revoked")).toHaveLength(told ?? 0);
    // Nor does the directory find a way back in.
    const back = await directory.call("GET", `/Users/${who.id}`);
    expect(back.status === 404 || back.body.active === false).toBe(true);
  });
});
