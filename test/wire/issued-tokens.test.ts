import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { signIn as signInByProvider, startRealm, subject } from "../oidc/support.ts";
import type { Realm } from "../oidc/support.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, invite, mailsTo, newcomer, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let realm: Realm;
let app: TestApp;
/** A member of two organizations. */
let person: Somebody;
beforeAll(async () => {
  realm = await startRealm({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  ({ app } = realm);
  person = await founder(app);
  const { token } = await invite(app, realm.owner, person.email);
  await post("/api/auth/invite/accept", { token, password });
});
afterAll(() => realm.close());

async function post(path: string, body: unknown, token?: string): Promise<Record<string, unknown>> {
  const { status, body: answer, text } = await app.call("POST", path, { body, token });
  if (status >= 300) throw new Error(`${path} returned ${status}: ${text}`);
  return answer.data ?? answer;
}

const login = (who: Somebody) => post("/api/auth/login", { email: who.email, password, org_name: who.orgName });

/** Every way to an access token. */
const doors: Record<string, () => Promise<unknown>> = {
  "a password": async () => (await login(person))["access_token"],
  "a sign-up": async () => (await founder(app)).token,
  "an elevation": () => elevated(app, person.token),
  "a refresh": async () => (await post("/api/auth/refresh", { refresh_token: person.refreshToken }))["access_token"],
  "a switch": async () => (await post("/api/auth/switch", { org_uuid: realm.owner.org }, person.token))["access_token"],
  "a magic link": async () => {
    const { dev_token: token } = await post("/api/auth/magic-link/send", { email: person.email });
    return (await post("/api/auth/magic-link/verify", { token }))["access_token"];
  },
  "a mailed code": async () => {
    await post("/api/auth/otp", { email: person.email });
    const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, person.email)).at(-1)?.text ?? "")?.[1];
    return (await post("/api/auth/otp/verify", { email: person.email, code }))["access_token"];
  },
  "a second factor": async () => {
    const who = await founder(app);
    const { id, secret } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, who.token);
    const code = (): string => codeAt(secret as string, app.clock.now());
    await post(`/api/v1/me/mfa/factors/${id as number}/verify`, { code: code() }, who.token);
    app.clock.advance(30_000);
    const { mfa_token: token } = await login(who);
    return (await post("/api/auth/mfa/totp/challenge", { mfa_token: token, code: code() }))["access_token"];
  },
  "an invitation": async () => {
    const { token } = await invite(app, realm.owner, "invited@people.test");
    return (await post("/api/auth/invite/accept", { token, ...newcomer() }))["access_token"];
  },
  "an identity provider": async () => (await signInByProvider(realm, subject("ann"))).body.access_token as unknown,
};

it.each(Object.keys(doors))("an access token by %s names the client it was issued to (RFC 9068)", async (door) => {
  const token = await doors[door]?.();
  expect(decodeJwt(String(token))).toMatchObject({ client_id: "atrium" });
});
