import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createPublicKey } from "node:crypto";
import type { ServerResponse } from "node:http";
import { auditOf, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { providerKey } from "./hostile-provider.ts";
import { begin, callbackOf, comeBack, connect, granted, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(() => {
  const { provider } = realm;
  provider.claims = (claims) => claims;
  provider.header = {};
  provider.discovery = {};
  provider.answers.clear();
  provider.signer = provider.keys[0] ?? provider.signer;
  // What is cached of the provider is fetched anew.
  realm.app.clock.advance(3_600_001);
});

const callback = async (who = subject("lie")) => {
  const { answer } = await callbackOf(realm, who);
  return answer.status === 302 ? "302" : outcome(answer);
};

/** The owner, whose token is new. */
async function signedInOwner(): Promise<Somebody> {
  const { app, owner } = realm;
  return { ...owner, token: await app.login(owner.email, password, owner.orgName) };
}

const raw =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (_: unknown, to: ServerResponse) =>
    void to.writeHead(status, { "content-type": "application/json", ...headers }).end(body);

it.each<[string, Record<string, unknown>]>([
  ["another issuer", { iss: "https://evil.test" }],
  ["another audience", { aud: "another-client" }],
  ["another authorized party", { aud: ["atrium-client", "other"], azp: "other" }],
  ["another authorized party, and this client as the only audience", { azp: "other" }],
  ["a replayed nonce", { nonce: "replayed" }],
  ["no nonce", { nonce: undefined }],
  ["no subject", { sub: undefined }],
  ["an empty subject", { sub: "" }],
  ["no expiry", { exp: undefined }],
  ["an expiry that is text", { exp: "4102444800" }],
  ["no time of issue", { iat: undefined }],
  ["no issuer", { iss: undefined }],
  ["no audience", { aud: undefined }],
  ["an empty list of audiences", { aud: [] }],
  ["a subject with half of a surrogate pair", { sub: "a\ud800" }],
  ["a hash of another access token", { at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }],
])("an ID token with %s is refused", async (_name, lie) => {
  realm.provider.claims = (claims) => ({ ...claims, ...lie });
  expect(await callback()).toBe("401 token_exchange_failed");
});

it("an ID token that has expired, or was issued more than five minutes off, is refused", async () => {
  for (const [iat, exp] of [
    [-900, -301],
    [-301, 300],
    [301, 900],
  ] as const) {
    const now = Math.floor(realm.app.clock.now() / 1000);
    realm.provider.claims = (claims) => ({ ...claims, iat: now + iat, exp: now + exp });
    expect(await callback()).toBe("401 token_exchange_failed");
  }
  realm.provider.claims = (claims) => ({ ...claims, iat: Number(claims.iat) - 240, exp: Number(claims.iat) - 240 });
  expect(await callback()).toBe("302");
});

it("an ID token signed by a foreign key, by a shared secret or by nobody is refused, whatever its header points at", async () => {
  const { provider } = realm;
  const [known] = provider.keys;
  provider.signer = await providerKey();
  expect(await callback()).toBe("401 token_exchange_failed");
  provider.signer = { ...provider.signer, kid: known?.kid ?? "" };
  expect(await callback()).toBe("401 token_exchange_failed");
  provider.header = { jku: `${provider.issuer}/evil-jwks`, jwk: provider.signer.jwk };
  expect(await callback()).toBe("401 token_exchange_failed");
  expect(provider.requests.get("/evil-jwks")).toBeUndefined();
  provider.header = {};
  const shown = createPublicKey({ key: { ...known?.jwk }, format: "jwk" });
  const pem = shown.export({ type: "spki", format: "pem" }).toString();
  for (const secret of [
    JSON.stringify(known?.jwk),
    pem,
    pem.trimEnd(),
    shown.export({ type: "pkcs1", format: "pem" }),
    shown.export({ type: "spki", format: "der" }),
    shown.export({ type: "pkcs1", format: "der" }),
    "a-client-secret",
  ]) {
    const privateKey = new Uint8Array(Buffer.from(secret));
    provider.signer = { kid: known?.kid ?? "", alg: "HS256", privateKey, jwk: {} };
    expect(await callback()).toBe("401 token_exchange_failed");
  }
  const unsigned = [{ alg: "none" }, { iss: provider.issuer, sub: "lie" }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const body = JSON.stringify({ access_token: "x", token_type: "Bearer", id_token: `${unsigned}.` });
  provider.answers.set("/token", raw(200, body));
  expect(await callback()).toBe("401 token_exchange_failed");
});

it.each(["PS256", "ES256", "EdDSA"])("an ID token signed with %s is accepted", async (alg) => {
  const { provider } = realm;
  const key = await providerKey(alg);
  provider.keys.push(key);
  provider.signer = key;
  expect(await callback()).toBe("302");
});

it("a rotated key is fetched once, and an unknown one no more often than every 10 seconds", async () => {
  const { provider } = realm;
  expect(await callback()).toBe("302");
  const fetched = () => provider.requests.get("/jwks") ?? 0;
  const before = fetched();
  expect(await callback()).toBe("302");
  expect(fetched()).toBe(before);
  realm.app.clock.advance(10_001);
  const next = await providerKey();
  provider.keys = [next];
  provider.signer = next;
  expect(await callback()).toBe("302");
  expect(fetched()).toBe(before + 1);
  provider.signer = await providerKey();
  for (let at = 0; at < 5; at++) expect(await callback()).toBe("401 token_exchange_failed");
  expect(fetched()).toBe(before + 1);
});

it("a rotated key is fetched from a provider that writes its endpoints otherwise than requests do", async () => {
  const { provider } = realm;
  const written = provider.issuer.toUpperCase();
  provider.discovery = { token_endpoint: `${written}/token`, jwks_uri: `${written}/x/../jwks` };
  expect(await callback()).toBe("302");
  const fetched = provider.requests.get("/jwks");
  expect(await callback()).toBe("302");
  expect(provider.requests.get("/jwks")).toBe(fetched);
  realm.app.clock.advance(10_001);
  provider.keys = [await providerKey()];
  provider.signer = provider.keys[0] ?? provider.signer;
  expect(await callback()).toBe("302");
  provider.answers.set("/jwks", raw(404, "{}"));
  realm.app.clock.advance(3_600_001);
  expect(await callback()).toBe("502 provider_error");
});

it("a key that the provider has withdrawn is refused once the key set has expired", async () => {
  const { provider } = realm;
  provider.answers.set("/jwks", (_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "cache-control": "max-age=10" });
    response.end(JSON.stringify({ keys: provider.keys.map(({ jwk }) => jwk) }));
  });
  expect(await callback()).toBe("302");
  provider.keys = [await providerKey()];
  expect(await callback()).toBe("302");
  realm.app.clock.advance(10_000);
  const exchanges = provider.requests.get("/token") ?? 0;
  expect(await callback()).toBe("401 token_exchange_failed");
  expect(provider.requests.get("/token")).toBe(exchanges + 1);
});

it.each<[string, Record<string, unknown>]>([
  ["an unverified address", { email_verified: false }],
  ["the string true", { email_verified: "true" }],
  ["no statement about its verification", { email_verified: undefined }],
  ["no address", { email: undefined }],
  ["an address that is no text", { email: ["lie@corp.test"] }],
  ["a foreign domain", { email: "lie@evil.test" }],
  ["a trailing dot", { email: "lie@corp.test." }],
  ["a subdomain", { email: "lie@sub.corp.test" }],
  ["a longer domain", { email: "lie@notcorp.test" }],
  ["a homoglyph", { email: "lie@сorp.test" }],
  ["full-width letters", { email: "lie@ｃorp.test" }],
  ["two addresses", { email: "lie@corp.test,x@evil.test" }],
  ["a second at sign", { email: "lie@evil.test@corp.test" }],
])("an identity with %s is refused", async (_name, claims) => {
  expect(await callback(subject("lie", claims))).toBe("403 domain_mismatch");
});

it("a discovery document or key set that cannot be used is 502, and nothing of it is shown", async () => {
  const { provider } = realm;
  const path = "/.well-known/openid-configuration";
  const authorize = async () => {
    const answer = await realm.app.call("GET", `/api/auth/oidc/${realm.connection}/authorize`);
    expect(answer.text).not.toContain("127.0.0.1");
    return outcome(answer);
  };
  const document = (more: object) => raw(200, JSON.stringify({ issuer: provider.issuer, ...more }));
  for (const lie of [
    raw(404, "{}"),
    raw(500, "{}"),
    raw(302, "", { location: `${provider.issuer}/jwks` }),
    raw(200, "no json"),
    raw(200, "[]"),
    raw(200, `{"pad":"${"x".repeat(10 * 1024 * 1024)}"}`),
    document({}),
    document({ issuer: `${provider.issuer}/other` }),
    document({ authorization_endpoint: "javascript:alert(1)", token_endpoint: "x", jwks_uri: "y" }),
  ]) {
    provider.answers.set(path, lie);
    expect(await authorize()).toBe("502 provider_error");
  }
  provider.answers.clear();
  for (const keys of [raw(500, "{}"), raw(200, "{}"), raw(200, `{"keys":[${Array(1_000).fill("{}").join()}]}`)]) {
    provider.answers.set("/jwks", keys);
    expect(await callback()).toBe("502 provider_error");
  }
  provider.answers.clear();
  provider.answers.set("/token", raw(503, "{}"));
  expect(await callback()).toBe("502 provider_error");
  provider.answers.set("/token", raw(200, "no json"));
  expect(await callback()).toBe("401 token_exchange_failed");
});

it("the address of another subject at the userinfo endpoint is refused", async () => {
  const { provider } = realm;
  provider.discovery = { userinfo_endpoint: `${provider.issuer}/userinfo` };
  const claims = { email: "swap@corp.test", email_verified: true };
  const silent = subject("swap", { email: undefined, email_verified: undefined });
  for (const sub of ["boss", undefined, ""]) {
    provider.answers.set("/userinfo", raw(200, JSON.stringify({ ...claims, sub })));
    expect(await callback(silent)).toBe("401 token_exchange_failed");
  }
  provider.answers.set("/userinfo", raw(200, JSON.stringify({ ...claims, sub: "swap" })));
  expect(await callback(silent)).toBe("302");
});

it("a discovery document that drips is given up after 10 seconds", async () => {
  realm.provider.answers.set("/.well-known/openid-configuration", (_, to) => {
    to.writeHead(200, { "content-type": "application/json" });
    const drip = setInterval(() => to.write(" "), 100);
    to.on("close", () => clearInterval(drip));
  });
  const answer = await realm.app.call("GET", `/api/auth/oidc/${realm.connection}/authorize`);
  expect(outcome(answer)).toBe("502 provider_error");
});

it("a response of another connection's provider is refused", async () => {
  const { body } = await connect(realm.app, await signedInOwner(), realm.provider.discoveryUrl, { name: "Other" });
  const begun = await begin(realm);
  const answer = await comeBack(realm, begun.cookie, granted(realm, begun), body.connection_uuid as string);
  expect(outcome(answer)).toBe("400 invalid_state");
});

it("the verified address of an owner links nothing", async () => {
  const { app, owner, provider } = realm;
  const { body } = await connect(app, await signedInOwner(), provider.discoveryUrl, {
    allowed_domains: ["people.test"],
  });
  const through = { ...realm, connection: body.connection_uuid as string };
  const answer = await signIn(through, subject("boss", { email: owner.email }));
  expect(outcome(answer)).toBe("403 link_required");
  const [event] = await auditOf(app, await signedInOwner(), "login.oidc");
  const metadata = { code: "link_required", connection_uuid: through.connection };
  expect(event).toMatchObject({ outcome: "failure", metadata });
});

it("an unverified address of an owner links nothing, and says nothing about the owner", async () => {
  const { app, owner, provider } = realm;
  const { body } = await connect(app, await signedInOwner(), provider.discoveryUrl, {
    allowed_domains: ["people.test"],
  });
  const through = { ...realm, connection: body.connection_uuid as string };
  for (const email_verified of [false, "true", 1, null, undefined]) {
    const theirs = await callbackOf(through, subject("boss", { email: owner.email, email_verified }));
    const nobodys = await callbackOf(through, subject("boss", { email: "nobody@people.test", email_verified }));
    expect(outcome(theirs.answer)).toBe("403 domain_mismatch");
    expect(theirs.answer.body.message).toBe(nobodys.answer.body.message);
  }
  const linked = await runSql(app.databaseUrl, "select 1 as one from oidc_identities where connection_uuid = $1", [
    through.connection,
  ]);
  expect(linked).toEqual([]);
});
