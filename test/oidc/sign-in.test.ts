import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { decodeJwt } from "jose";
import { codeAt } from "../mfa/support.ts";
import { auditOf, invite, newcomer, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import {
  begin,
  callbackOf,
  comeBack,
  connect,
  granted,
  redeem,
  REDIRECT,
  sessionTokenOf,
  signIn,
  startRealm,
  subject,
} from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

it.each(["is_platform_admin", "is_superuser", "is_operator"])(
  "the verified address of a member with %s links nothing, since the provider would act with that power",
  async (power) => {
    const { app, owner } = realm;
    const sub = `powerful-${randomUUID()}`;
    const { token } = await invite(app, owner, `${sub}@corp.test`);
    const joined = await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer() } });
    expect(outcome(joined)).toBe("200");
    const userUuid = joined.body.data.user_uuid as string;
    const set = (has: boolean) =>
      runSql(app.databaseUrl, `update people set ${power} = $2 where uuid = $1`, [userUuid, has]);
    await set(true);
    expect(outcome(await signIn(realm, subject(sub)))).toBe("403 link_required");
    await set(false);
    expect(outcome(await signIn(realm, subject(sub)))).toBe("200");
  },
);

it("a person of an admitted domain signs in, becomes an employee and finds the same account again", async () => {
  const first = await signIn(realm, subject("ann", { given_name: "Ann", family_name: "Lee" }));
  expect(outcome(first)).toBe("200");
  expect(first.body).toMatchObject({ token_type: "Bearer", expires_in: 420 });
  const claims = decodeJwt(first.body.access_token as string);
  expect(claims).toMatchObject({ org: realm.owner.org, roles: ["employee"], amr: ["fed"] });
  const again = await signIn(realm, subject("ann", { email: "renamed@corp.test" }));
  expect(decodeJwt(again.body.access_token as string).sub).toBe(claims.sub);
  const [event] = await auditOf(realm.app, realm.owner, "login.oidc");
  expect(event).toMatchObject({ outcome: "success", metadata: { connection_uuid: realm.connection, amr: ["fed"] } });
});

it("authorize sends PKCE, state and nonce, and binds the sign-in to the browser by a cookie", async () => {
  const { url, answer } = await begin(realm, { redirect_uri: REDIRECT });
  const params = Object.fromEntries(new URL(url).searchParams);
  expect(params).toMatchObject({
    response_type: "code",
    client_id: "atrium-client",
    code_challenge_method: "S256",
    redirect_uri: `http://atrium.test/api/auth/oidc/${realm.connection}/callback`,
  });
  for (const name of ["state", "nonce", "code_challenge"]) expect(params[name]).toMatch(/^[\w-]{43}$/u);
  expect(answer.headers.get("set-cookie")).toMatch(
    /^atrium_oidc_[0-9a-f]{16}=[\w-]{43}; Path=\/api\/auth\/oidc; Max-Age=660; HttpOnly; SameSite=Lax$/u,
  );
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
});

it("the redirect keeps the query of redirect_uri and returns the client's state", async () => {
  const { answer } = await callbackOf(realm, subject("bob"), { redirect_uri: REDIRECT, state: "a b&c" });
  const to = new URL(answer.headers.get("location") ?? "");
  expect([to.origin, to.searchParams.get("tab"), to.searchParams.get("state")]).toEqual([
    "http://client.test",
    "1",
    "a b&c",
  ]);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
});

it("the client's state has at most 1,024 characters", async () => {
  const state = "é".repeat(1_024);
  const { answer } = await callbackOf(realm, subject("bea"), { redirect_uri: REDIRECT, state });
  expect(new URL(answer.headers.get("location") ?? "").searchParams.get("state")).toBe(state);
  const search = new URLSearchParams({ state: `${state}x` }).toString();
  const refused = await realm.app.call("GET", `/api/auth/oidc/${realm.connection}/authorize?${search}`);
  expect([outcome(refused), refused.body.errors[0].field]).toEqual(["400 validation_error", "state"]);
});

it("the redirect keeps the query of redirect_uri as it is written", async () => {
  const uri = "https://app.test/cb?next=a%20b~c&flag&list=1%2C2";
  const { body } = await connect(realm.app, realm.owner, realm.provider.discoveryUrl, { redirect_uris: [uri] });
  const through = { ...realm, connection: body.connection_uuid as string };
  const { answer } = await callbackOf(through, subject("ben"), { state: "a b" });
  expect(answer.headers.get("location")).toMatch(/^[^&]+&flag&list=1%2C2&session_token=[\w-]{43}&state=a\+b$/u);
  expect(answer.headers.get("location")?.startsWith(`${uri}&`)).toBe(true);
});

it("a redirect_uri is matched exactly", async () => {
  for (const redirect_uri of [
    "http://client.test/back",
    `${REDIRECT}&x=1`,
    "https://evil.test/",
    "javascript:alert(1)",
  ]) {
    const search = new URLSearchParams({ redirect_uri });
    const answer = await realm.app.call("GET", `/api/auth/oidc/${realm.connection}/authorize?${search.toString()}`);
    expect(outcome(answer)).toBe("400 validation_error");
  }
});

it("a redirect_uri that the connection has lost since the sign-in began is sent no session token", async () => {
  const { app, owner, provider } = realm;
  const redirect_uris = ["https://app.test/one", "https://app.test/two"];
  const { body } = await connect(app, owner, provider.discoveryUrl, { redirect_uris });
  const connection = body.connection_uuid as string;
  provider.subject = subject("fay");
  const begun = await begin(realm, { redirect_uri: "https://app.test/one" }, connection);
  const path = `/api/admin/organizations/${owner.org}/oidc-connections/${connection}`;
  const changed = { redirect_uris: ["https://app.test/two"] };
  expect(outcome(await app.call("PATCH", path, { token: owner.token, body: changed }))).toBe("200");
  expect(outcome(await comeBack(realm, begun.cookie, granted(realm, begun), connection))).toBe("400 invalid_state");
});

it("a session token is good once, for 60 seconds and in the browser that began", async () => {
  const one = await callbackOf(realm, subject("cal"));
  const token = sessionTokenOf(one.answer);
  expect(outcome(await redeem(realm, token, ""))).toBe("401 unauthorized");
  expect(outcome(await redeem(realm, token, (await begin(realm)).cookie))).toBe("401 unauthorized");
  const all = await Promise.all(Array.from({ length: 10 }, () => redeem(realm, token, one.cookie)));
  expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(all.filter(({ status }) => status === 401)).toHaveLength(9);
  const late = await callbackOf(realm, subject("cal"));
  realm.app.clock.advance(60_001);
  expect(outcome(await redeem(realm, sessionTokenOf(late.answer), late.cookie))).toBe("401 unauthorized");
});

it.each([
  [599_999, 59_999, "302 undefined", "200"],
  [600_000, 60_000, "400 invalid_state", "401 unauthorized"],
  [600_001, 60_001, "400 invalid_state", "401 unauthorized"],
])("a sign-in ends with its lifetimes: after %i ms at the provider and %i ms with the client", async (...row) => {
  const [stateMs, tokenMs, callback, session] = row;
  realm.provider.subject = subject("kay");
  const begun = await begin(realm);
  realm.app.clock.advance(stateMs);
  expect(outcome(await comeBack(realm, begun.cookie, granted(realm, begun)))).toBe(callback);
  const { answer, cookie } = await callbackOf(realm, subject("kay"));
  realm.app.clock.advance(tokenMs);
  expect(outcome(await redeem(realm, sessionTokenOf(answer), cookie))).toBe(session);
});

it("with a client's challenge the verifier is demanded, and no cookie", async () => {
  const verifier = "v".repeat(43);
  const code_challenge = createHash("sha256").update(verifier).digest("base64url");
  const { answer, cookie } = await callbackOf(realm, subject("dan"), { code_challenge, code_challenge_method: "S256" });
  const token = sessionTokenOf(answer);
  expect(outcome(await redeem(realm, token, cookie))).toBe("401 unauthorized");
  expect(outcome(await redeem(realm, token, cookie, "w".repeat(43)))).toBe("401 unauthorized");
  expect(outcome(await redeem(realm, token, "", verifier))).toBe("200");
});

it("one of 50 parallel callbacks with the same state succeeds", async () => {
  realm.provider.subject = subject("eve");
  const begun = await begin(realm);
  const query = granted(realm, begun);
  const all = await Promise.all(Array.from({ length: 50 }, () => comeBack(realm, begun.cookie, query)));
  expect(all.filter(({ status }) => status === 302)).toHaveLength(1);
  expect(all.filter((answer) => outcome(answer) === "400 invalid_state")).toHaveLength(49);
});

it("a callback is refused in the documented order", async () => {
  const back = (cookie: string, query: Record<string, string>, connection?: string) =>
    comeBack(realm, cookie, query, connection).then(outcome);
  const begun = await begin(realm);
  const query = granted(realm, begun);
  const unknown = "0b1d2a3e-aaaa-4000-8000-00000000000f";
  expect(await back(begun.cookie, query, unknown)).toBe("400 invalid_connection");
  const events = await runSql(
    realm.app.databaseUrl,
    "select org_uuid, outcome, metadata from audit_events where type = 'login.oidc' and org_uuid is null",
  );
  const metadata = { code: "invalid_connection", connection_uuid: unknown };
  expect(events).toContainEqual({ org_uuid: null, outcome: "failure", metadata });
  expect(await back("", { ...query, error: "access_denied" })).toBe("400 invalid_state");
  expect(await back((await begin(realm)).cookie, query)).toBe("400 invalid_state");
  expect(await back(begun.cookie, { ...query, state: "forged" })).toBe("400 invalid_state");
  // State and cookie are right from here on, so each try uses its state up.
  expect(await back(begun.cookie, { ...query, iss: "https://evil.test" })).toBe("400 invalid_state");
  expect(await back(begun.cookie, query)).toBe("400 invalid_state");
  const denied = await begin(realm);
  const { state = "" } = granted(realm, denied);
  expect(await back(denied.cookie, { state, error: "access_denied" })).toBe("502 provider_error");
  const empty = await begin(realm);
  expect(await back(empty.cookie, { state: granted(realm, empty)["state"] ?? "" })).toBe("400 missing_code");
  const wrong = await begin(realm);
  expect(await back(wrong.cookie, { ...granted(realm, wrong), code: "injected" })).toBe("401 token_exchange_failed");
  const late = await begin(realm);
  realm.app.clock.advance(600_001);
  expect(await back(late.cookie, granted(realm, late))).toBe("400 invalid_state");
});

it("a second factor completes no sign-in by an identity that somebody else has linked meanwhile", async () => {
  const { app, owner, connection } = realm;
  const { body: pair } = await signIn(realm, subject("lia"));
  const token = pair.access_token as string;
  const enrolled = await app.call("POST", "/api/v1/me/mfa/factors", { token, body: { factor_type: "totp" } });
  const { id, secret } = enrolled.body.data as { id: number; secret: string };
  const code = (): string => codeAt(secret, app.clock.now(), 0);
  const verified = await app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, { token, body: { code: code() } });
  expect(outcome(verified)).toBe("200");
  app.clock.advance(30_000);
  const { mfa_token } = (await signIn(realm, subject("lia"))).body as { mfa_token: string };
  const relink = `update oidc_identities set user_uuid = (select uuid from people where email = $2)
    where connection_uuid = $1 and subject = 'lia'`;
  await runSql(app.databaseUrl, relink, [connection, owner.email]);
  onTestFinished(async () => {
    await runSql(app.databaseUrl, "delete from oidc_identities where subject = 'lia'", []);
  });
  const completed = await app.call("POST", "/api/auth/mfa/totp/challenge", { body: { mfa_token, code: code() } });
  expect(outcome(completed)).toBe("403 link_required");
});

it("a callback without iss is refused where the provider always sends it", async () => {
  const { app, provider } = realm;
  provider.discovery = { authorization_response_iss_parameter_supported: true };
  app.clock.advance(3_600_000);
  try {
    const without = await begin(realm);
    expect(outcome(await comeBack(realm, without.cookie, granted(realm, without)))).toBe("400 invalid_state");
    const named = await begin(realm);
    const query = { ...granted(realm, named), iss: provider.issuer };
    expect((await comeBack(realm, named.cookie, query)).status).toBe(302);
  } finally {
    provider.discovery = {};
  }
});
