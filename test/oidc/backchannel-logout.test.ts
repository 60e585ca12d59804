import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Answer } from "../support/app.ts";
import { founder, outcome, password } from "../support/people.ts";
import { codeAt } from "../mfa/support.ts";
import { providerKey } from "./hostile-provider.ts";
import { callbackOf, connect, redeem, sessionTokenOf, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(() => {
  const { app, provider } = realm;
  provider.answers.clear();
  provider.signer = provider.keys[0] ?? provider.signer;
  app.clock.advance(20_000);
});

/** A logout token of the provider; claims that are undefined are left out. */
async function logoutToken(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
  const { app, provider } = realm;
  const { signer } = provider;
  const iat = Math.floor(app.clock.now() / 1000);
  const all = {
    iss: provider.issuer,
    aud: "atrium-client",
    iat,
    exp: iat + 120,
    jti: randomUUID(),
    events: { [EVENT]: {} },
    ...claims,
  };
  return new SignJWT(all)
    .setProtectedHeader({ alg: signer.alg, kid: signer.kid, typ: "logout+jwt", ...header })
    .sign(signer.privateKey);
}

const send = (token: string, connection = realm.connection): Promise<Answer> =>
  realm.app.call("POST", `/api/auth/oidc/${connection}/backchannel-logout`, {
    body: new URLSearchParams({ logout_token: token }).toString(),
    headers: FORM,
  });
const logout = async (claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string> =>
  outcome(await send(await logoutToken(claims, header)));

/** A new session of somebody, in the session `sid` at the provider. */
async function session(sub: string, sid?: string): Promise<{ access: string; refresh: string }> {
  const { status, body, text } = await signIn(realm, subject(sub, sid === undefined ? {} : { sid }));
  if (status !== 200) throw new Error(`the sign-in answered ${status}: ${text}`);
  return { access: body.access_token as string, refresh: body.refresh_token as string };
}
const alive = async ({ access }: { access: string }): Promise<boolean> =>
  (await realm.app.call("GET", "/api/auth/me", { token: access })).status === 200;

it("a logout token with a subject ends every session of that subject, and no other", async () => {
  const [one, two, other] = [await session("ann", "s1"), await session("ann"), await session("bob")];
  const answer = await send(await logoutToken({ sub: "ann" }));
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect([await alive(one), await alive(two), await alive(other)]).toEqual([false, false, true]);
  const refreshed = await realm.app.call("POST", "/api/auth/refresh", { body: { refresh_token: one.refresh } });
  expect(refreshed.status).toBe(401);
  realm.app.clock.advance(1);
  expect(await alive(await session("ann", "s2"))).toBe(true);
});

it("a logout ends the session of a new organization that a session of that subject founded", async () => {
  const one = await session("ivy", "i1");
  const made = await realm.app.call("POST", "/api/organizations", { token: one.access, body: { name: "Ivy's own" } });
  expect(made.status).toBe(201);
  const founded = { access: made.body.access_token as string };
  expect(await alive(founded)).toBe(true);
  expect(await logout({ sid: "i1" })).toBe("200");
  expect([await alive(one), await alive(founded)]).toEqual([false, false]);
});

it("a logout token with a session of the provider ends that session alone", async () => {
  const [one, two] = [await session("cal", "c1"), await session("cal", "c2")];
  expect(await logout({ sid: "c1" })).toBe("200");
  expect([await alive(one), await alive(two)]).toEqual([false, true]);
  expect(await logout({ sub: "dan", sid: "c2" })).toBe("200");
  expect(await alive(two)).toBe(true);
  expect(await logout({ sub: "cal", sid: "c2" })).toBe("200");
  expect(await alive(two)).toBe(false);
});

it("a logout token with subject and session ends what that subject opened without one, and nothing of others", async () => {
  const [unnamed, elsewhere, other] = [await session("gus"), await session("gus", "g1"), await session("hal")];
  expect(await logout({ sub: "gus", sid: "g2" })).toBe("200");
  expect([await alive(unnamed), await alive(elsewhere), await alive(other)]).toEqual([false, true, true]);
});

it.each(["a\0b", "a\ud800", "s".repeat(256), ""])(
  "a sign-in with a session of the provider that cannot be stored, %j, ends by its subject",
  async (sid) => {
    const one = await session("jay", sid);
    expect(await logout({ sub: "jay" })).toBe("200");
    expect(await alive(one)).toBe(false);
    realm.app.clock.advance(1);
  },
);

it("a logout ends sessions of its connection alone, and one of nobody who is known is 200", async () => {
  const one = await session("eve");
  expect(await logout({ sub: "nobody" })).toBe("200");
  expect(await logout({ sid: "none" })).toBe("200");
  expect(outcome(await send(await logoutToken({ sub: "eve" }), randomUUID()))).toBe("404 not_found");
  expect(outcome(await send(await logoutToken({ sub: "eve" }), "nonsense"))).toBe("400 invalid_uuid");
  expect(await alive(one)).toBe(true);
});

it("a logout by another organization's connection to the same provider ends no session here", async () => {
  const { app, provider } = realm;
  const { body } = await connect(app, await founder(app), provider.discoveryUrl);
  const one = await session("zoe", "z1");
  for (const whom of [{ sub: "zoe" }, { sid: "z1" }, { sub: "zoe", sid: "z1" }])
    expect(outcome(await send(await logoutToken(whom), body.connection_uuid as string))).toBe("200");
  expect(await alive(one)).toBe(true);
});

it("a logout is recorded with its reason in the organization's audit log", async () => {
  const { app, owner } = realm;
  await session("fay");
  expect(await logout({ sub: "fay" })).toBe("200");
  const path = `/api/organizations/${owner.org}/audit-events?type=session.bulk_revoked&limit=1`;
  const { body } = await app.call("GET", path, { token: await app.login(owner.email, password, owner.orgName) });
  expect(body.data[0].metadata).toMatchObject({ revoked: 1, reason: "backchannel_logout" });
});

it("a repeated logout token is 200 and ends nothing, also 50 times in parallel", async () => {
  await session("gus");
  const token = await logoutToken({ sub: "gus" });
  const all = await Promise.all(Array.from({ length: 50 }, () => send(token)));
  expect(new Set(all.map(outcome))).toEqual(new Set(["200"]));
  realm.app.clock.advance(1);
  const next = await session("gus");
  expect(outcome(await send(token))).toBe("200");
  expect(await alive(next)).toBe(true);
});

it.each<[string, Record<string, unknown>]>([
  ["another issuer", { iss: "https://evil.test" }],
  ["no issuer", { iss: undefined }],
  ["another audience", { aud: "another-client" }],
  ["no audience", { aud: undefined }],
  ["a nonce", { nonce: "n" }],
  ["a nonce that is null", { nonce: null }],
  ["no jti", { jti: undefined }],
  ["a jti that is no text", { jti: 7 }],
  ["an endless jti", { jti: "j".repeat(5_000) }],
  ["no events", { events: undefined }],
  ["other events", { events: { "http://schemas.openid.net/event/other": {} } }],
  ["an event that is no object", { events: { [EVENT]: "yes" } }],
  ["a list of events", { events: [EVENT] }],
  ["no subject and no session", { sub: undefined }],
  ["a subject that is no text", { sub: { a: 1 } }],
  ["a NUL in its session", { sid: "a\0b" }],
  ["half of a surrogate pair in its subject", { sub: "a\ud800" }],
  ["no time of issue", { iat: undefined }],
  ["a time of issue long ago", { iat: 1_000_000_000, exp: undefined }],
  ["a time of issue to come", { iat: 9_000_000_000 }],
  ["an end long ago", { exp: 1_000_000_000 }],
])("a logout token with %s is 400 and ends nothing", async (_name, lie) => {
  const one = await session("hal");
  expect(await logout({ sub: "hal", ...lie })).toBe("400 bad_request");
  expect(await alive(one)).toBe(true);
});

it("a logout token without exp is good, and so is one whose typ is JWT or absent", async () => {
  expect(await logout({ sub: "ida", exp: undefined })).toBe("200");
  expect(await logout({ sub: "ida", aud: ["other", "atrium-client"] })).toBe("200");
  for (const typ of ["JWT", "application/logout+jwt", undefined])
    expect(await logout({ sub: "ida" }, { typ })).toBe("200");
  expect(await logout({ sub: "ida" }, { typ: "at+jwt" })).toBe("400 bad_request");
  expect(await logout({ sub: "ida" }, { typ: 7 })).toBe("400 bad_request");
});

it("a logout token signed by a foreign key, a shared secret or nobody is 400 and ends nothing", async () => {
  const { provider } = realm;
  const one = await session("jim");
  const [known] = provider.keys;
  const refuse = async (header?: Record<string, unknown>) =>
    expect(await logout({ sub: "jim" }, header)).toBe("400 bad_request");
  provider.signer = { ...(await providerKey()), kid: known?.kid ?? "" };
  await refuse();
  await refuse({ jku: `${provider.issuer}/evil-jwks`, jwk: provider.signer.jwk });
  expect(provider.requests.get("/evil-jwks")).toBeUndefined();
  const secret = new TextEncoder().encode(JSON.stringify(known?.jwk));
  provider.signer = { kid: known?.kid ?? "", alg: "HS256", privateKey: secret, jwk: {} };
  await refuse();
  const claims = (await logoutToken({ sub: "jim" })).split(".")[1] ?? "";
  const none = Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString("base64url");
  for (const token of [`${none}.${claims}.`, `.${claims}.`, "a.b.c", "nonsense", "…", "a".repeat(16_000)])
    expect(outcome(await send(token))).toBe("400 bad_request");
  expect(await alive(one)).toBe(true);
});

it("a logout token that nobody could have signed makes the service call no provider", async () => {
  const { app, provider } = realm;
  app.clock.advance(3_600_001);
  const before = [...provider.requests.values()].reduce((sum, one) => sum + one, 0);
  for (const lie of [{ iss: "https://evil.test" }, { aud: "x" }, { events: {} }, { iat: 1 }])
    expect(await logout({ sub: "kim", ...lie })).toBe("400 bad_request");
  expect([...provider.requests.values()].reduce((sum, one) => sum + one, 0)).toBe(before);
  provider.answers.set("/jwks", (_, to) => void to.writeHead(500).end());
  expect(await logout({ sub: "kim" })).toBe("502 provider_error");
});

it("a logout token comes as a form, once and of bounded size", async () => {
  const path = `/api/auth/oidc/${realm.connection}/backchannel-logout`;
  const token = await logoutToken({ sub: "leo" });
  const post = async (body: unknown, headers: Record<string, string> = FORM) =>
    outcome(await realm.app.call("POST", path, { body, headers }));
  expect(await post({ logout_token: token }, {})).toBe("415 unsupported_media_type");
  expect(await post("other=1")).toBe("400 bad_request");
  expect(await post("")).toBe("400 bad_request");
  expect(await post(`logout_token=${token}&logout_token=${token}`)).toBe("400 bad_request");
  expect(await post(`logout_token=${"a".repeat(17_000)}`)).toBe("400 bad_request");
  expect(await post(`logout_token=${"a".repeat(1_100_000)}`)).toBe("413 payload_too_large");
  expect(await post(`logout_token=${token}&more=ignored`)).toBe("200");
});

it("a sign-in that waits here when the provider ends it is not completed", async () => {
  const { app } = realm;
  const waiting = await callbackOf(realm, subject("mia"));
  app.clock.advance(1);
  expect(await logout({ sub: "mia" })).toBe("200");
  expect(outcome(await redeem(realm, sessionTokenOf(waiting.answer), waiting.cookie))).toBe("401 unauthorized");
  // A session of the provider that is over opens no session here, whenever it signed in.
  expect(await logout({ sid: "m1" })).toBe("200");
  app.clock.advance(1);
  expect(outcome(await signIn(realm, subject("mia", { sid: "m1" })))).toBe("401 unauthorized");
  expect(outcome(await signIn(realm, subject("mia", { sid: "m2" })))).toBe("200");
});

it("a second factor completes no sign-in that the provider has ended meanwhile", async () => {
  const { app } = realm;
  const { access } = await session("nia");
  const enrolled = await app.call("POST", "/api/v1/me/mfa/factors", { token: access, body: { factor_type: "totp" } });
  const { id, secret } = enrolled.body.data as { id: number; secret: string };
  const code = (steps = 0): string => codeAt(secret, app.clock.now(), steps);
  const path = `/api/v1/me/mfa/factors/${id}/verify`;
  expect((await app.call("POST", path, { token: access, body: { code: code() } })).status).toBe(200);
  const challenge = async (): Promise<string> => {
    app.clock.advance(30_000);
    const { body } = await signIn(realm, subject("nia", { sid: "n1" }));
    return body.mfa_token as string;
  };
  const complete = async (mfa_token: string): Promise<string> =>
    outcome(await app.call("POST", "/api/auth/mfa/totp/challenge", { body: { mfa_token, code: code() } }));
  const first = await challenge();
  expect(await complete(first)).toBe("200");
  const second = await challenge();
  expect(await logout({ sub: "nia", sid: "n1" })).toBe("200");
  expect(await complete(second)).toBe("401 unauthorized");
});

it("a sign-in that races a logout of its subject never outlives it", async () => {
  for (let round = 0; round < 5; round++) {
    const waiting = await callbackOf(realm, subject("oda"));
    realm.app.clock.advance(1);
    const [opened, ended] = await Promise.all([
      redeem(realm, sessionTokenOf(waiting.answer), waiting.cookie),
      logout({ sub: "oda" }),
    ]);
    expect(ended).toBe("200");
    if (opened.status === 200) expect(await alive({ access: opened.body.access_token as string })).toBe(false);
    else expect(outcome(opened)).toBe("401 unauthorized");
    realm.app.clock.advance(1);
  }
});
