import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { callbackOf, sessionTokenOf, startRealm, subject } from "../oidc/support.ts";
import type { Realm } from "../oidc/support.ts";
import { signIn } from "../sessions/support.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, invite, mailsTo, newcomer, outcome, password, tokenTo } from "../support/people.ts";

let realm: Realm;
let app: TestApp;
beforeAll(async () => {
  realm = await startRealm();
  ({ app } = realm);
});
afterAll(() => realm.close());

interface Request {
  path: string;
  body: unknown;
  headers?: Record<string, string>;
  token?: string;
}

/** What opens a session: each makes a request that succeeds once. */
const doors: Record<string, () => Promise<Request>> = {
  "a password": async () => {
    const { email } = await founder(app);
    return { path: "login", body: { email, password } };
  },
  "a code": async () => {
    const { email } = await founder(app);
    await app.call("POST", "/api/auth/otp", { body: { email } });
    const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1];
    return { path: "otp/verify", body: { email, code } };
  },
  "a magic link": async () => {
    const { email } = await founder(app);
    await app.call("POST", "/api/auth/magic-link/send", { body: { email } });
    return { path: "magic-link/verify", body: { token: await tokenTo(app, email) } };
  },
  "an invitation of a new person": async () => {
    const { token } = await invite(app, realm.owner, `${randomUUID()}@devices.test`);
    return { path: "invite/accept", body: { token, ...newcomer() } };
  },
  "an invitation of somebody signed in": async () => {
    const { email, token: bearer } = await founder(app);
    const { token } = await invite(app, realm.owner, email);
    return { path: "invite/accept", body: { token }, token: bearer };
  },
  "a sign-up": async () => ({
    path: "../organizations",
    body: { name: randomUUID(), email: `${randomUUID()}@devices.test`, password, first_name: "Dee" },
  }),
  "a second factor": async () => {
    const { email, token } = await founder(app);
    const factors = "/api/v1/me/mfa/factors";
    const { body } = await app.call("POST", factors, { token, body: { factor_type: "totp" } });
    const { id, secret } = body.data as { id: number; secret: string };
    const code = () => ({ code: codeAt(secret, app.clock.now()) });
    await app.call("POST", `${factors}/${id}/verify`, { token, body: code() });
    app.clock.advance(30_000);
    const first = await app.call("POST", "/api/auth/login", { body: { email, password } });
    return { path: "mfa/totp/challenge", body: { mfa_token: first.body.mfa_token, ...code() } };
  },
  "single sign-on": async () => {
    const { cookie, answer } = await callbackOf(realm, subject(randomUUID()));
    return { path: "oidc/session", body: { session_token: sessionTokenOf(answer) }, headers: { cookie } };
  },
  "a switch": async () => {
    const who = await founder(app);
    const { token, sid } = await signIn(app, who);
    const made = await app.call("POST", "/api/organizations", { token, body: { name: `Of ${sid}` } });
    return { path: "switch", body: { org_uuid: made.body.org_uuid }, token };
  },
};

it.each(Object.entries(doors))("%s takes X-Device-Uuid, and is not used up by one that is no UUID", async (_, door) => {
  const { path, headers, ...request } = await door();
  const send = (device: string): Promise<Answer> =>
    app.call("POST", new URL(path, "http://x/api/auth/").pathname, {
      ...request,
      headers: { ...headers, "x-device-uuid": device },
    });
  for (const device of ["x", `${randomUUID()}0`, `{${randomUUID()}}`])
    expect(outcome(await send(device))).toBe("400 validation_error");
  const device = randomUUID();
  const { status, body } = await send(device.toUpperCase());
  const opened = body.data ?? body;
  expect([Math.floor(status / 100), opened.device_uuid]).toEqual([2, device]);
  const { body: own } = await app.call("GET", "/api/auth/sessions", { token: opened.access_token as string });
  expect((own.data as { current: boolean }[]).find(({ current }) => current)).toMatchObject({ device_uuid: device });
});
