import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { generateKeyPairSync } from "node:crypto";
import type { ServerResponse } from "node:http";
import { elevated, founder, outcome, password } from "../support/people.ts";
import { providerKey } from "./hostile-provider.ts";
import { connect, startRealm } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
let token: string;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(async () => {
  const { app, owner, provider } = realm;
  provider.discovery = {};
  provider.answers.clear();
  token = await elevated(app, await app.login(owner.email, password, owner.orgName));
});

interface Check {
  name: string;
  ok: boolean;
  message: string;
}

const ask = (connection = realm.connection, org = realm.owner.org, bearer = token) =>
  realm.app.call("POST", `/api/admin/organizations/${org}/oidc-connections/${connection}/test`, { token: bearer });

/** The checks that failed, each with what it says. */
async function failures(connection = realm.connection): Promise<Record<string, string>> {
  const { status, body, text } = await ask(connection);
  expect(status, text).toBe(200);
  const checks = body.checks as Check[];
  expect(checks.map(({ name }) => name)).toEqual(["discovery", "issuer", "jwks", "endpoints", "pkce"]);
  expect(body.ok).toBe(checks.every(({ ok }) => ok));
  return Object.fromEntries(checks.filter(({ ok }) => !ok).map(({ name, message }) => [name, message]));
}

const raw =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (_: unknown, to: ServerResponse) =>
    void to.writeHead(status, { "content-type": "application/json", ...headers }).end(body);

const DISCOVERY = "/.well-known/openid-configuration";

it("the test of a connection to a truthful provider passes every check", async () => {
  const { status, body } = await ask();
  expect(status).toBe(200);
  expect(body).toEqual({
    ok: true,
    checks: ["discovery", "issuer", "jwks", "endpoints", "pkce"].map((name) => ({ name, ok: true, message: "ok" })),
  });
});

it("the test of a connection asks for an elevated administrator of the organization and a connection of it", async () => {
  const { app, owner } = realm;
  const plain = await app.login(owner.email, password, owner.orgName);
  expect(outcome(await ask(realm.connection, owner.org, plain))).toBe("403 step_up_required");
  expect(outcome(await ask(realm.connection, owner.org, ""))).toBe("401 unauthorized");
  const stranger = await founder(app);
  expect(outcome(await ask(realm.connection, stranger.org))).toBe("404 org_not_found");
  expect(outcome(await ask("00000000-0000-4000-8000-000000000000"))).toBe("404 not_found");
  expect(outcome(await ask("nonsense"))).toBe("400 invalid_uuid");
  const theirs = await elevated(app, stranger.token);
  expect(outcome(await ask(realm.connection, stranger.org, theirs))).toBe("404 not_found");
});

it.each<[string, ReturnType<typeof raw>]>([
  ["an error", raw(404, "{}")],
  ["a failure", raw(500, "{}")],
  ["a redirect", raw(302, "", { location: "http://169.254.169.254/" })],
  ["no JSON", raw(200, "<html>")],
  ["a list", raw(200, "[]")],
  ["null", raw(200, "null")],
  ["10 MB", raw(200, `{"pad":"${"x".repeat(10 * 1024 * 1024)}"}`)],
  ["in a coding that was not asked for", raw(200, "{}", { "content-encoding": "zstd" })],
  ["in a broken coding", raw(200, "{}", { "content-encoding": "gzip" })],
  ["broken HTTP", (_, to) => void to.socket?.end("NOT HTTP\r\n\r\n")],
  ["a reset", (_, to) => void to.socket?.destroy()],
])("the test of a connection whose discovery document is %s says so and checks nothing else", async (_name, lie) => {
  realm.provider.answers.set(DISCOVERY, lie);
  const failed = await failures();
  expect(failed["discovery"]).toMatch(/^The discovery document: .+\.$/u);
  for (const name of ["issuer", "jwks", "endpoints", "pkce"]) expect(failed[name]).toMatch(/^Not checked/u);
});

it("the test of a connection names the issuer of the document when it is another one, and sends it no secret", async () => {
  const { provider } = realm;
  const before = provider.requests.get("/token") ?? 0;
  for (const issuer of ["https://evil.test", undefined, null, 7, { a: 1 }, "x".repeat(100_000)]) {
    provider.discovery = { issuer };
    const failed = await failures();
    expect(Object.keys(failed)).toEqual(["issuer", "endpoints"]);
    expect(failed["issuer"]?.length).toBeLessThan(500);
  }
  expect(provider.requests.get("/token") ?? 0).toBe(before);
});

it.each<[string, Record<string, unknown>, string[]]>([
  ["a script as endpoint", { authorization_endpoint: "javascript:alert(1)" }, ["endpoints"]],
  ["no token endpoint", { token_endpoint: undefined }, ["endpoints"]],
  ["a token endpoint of the cloud's metadata", { token_endpoint: "http://169.254.169.254/token" }, ["endpoints"]],
  ["a token endpoint that is closed", { token_endpoint: "http://127.0.0.1:9/token" }, ["endpoints"]],
  ["keys in a private network", { jwks_uri: "http://10.0.0.1/jwks" }, ["jwks", "endpoints"]],
  ["keys that are no URL", { jwks_uri: { a: 1 } }, ["jwks", "endpoints"]],
  ["shared secrets alone", { id_token_signing_alg_values_supported: ["HS256", "none"] }, ["endpoints"]],
  ["private keys alone", { token_endpoint_auth_methods_supported: ["private_key_jwt"] }, ["endpoints"]],
  ["pushed authorization requests alone", { require_pushed_authorization_requests: true }, ["endpoints"]],
  ["signed request objects alone", { require_signed_request_object: true }, ["endpoints"]],
  ["implicit responses alone", { response_types_supported: ["id_token", "code id_token"] }, ["endpoints"]],
  ["forms and fragments alone", { response_modes_supported: ["form_post", "fragment"] }, ["endpoints"]],
  ["client credentials alone", { grant_types_supported: ["client_credentials"] }, ["endpoints"]],
  ["algorithms of none of its keys", { id_token_signing_alg_values_supported: ["ES256"] }, ["jwks"]],
  ["PKCE by plain alone", { code_challenge_methods_supported: ["plain"] }, ["pkce"]],
  ["PKCE that is no list", { code_challenge_methods_supported: "S256" }, ["pkce"]],
])("the test of a connection to a provider with %s fails", async (_name, lie, names) => {
  realm.provider.discovery = lie;
  const failed = await failures();
  expect(Object.keys(failed)).toEqual(names);
});

it("the test of a connection passes where lists are absent, or name more than sign-ins use", async () => {
  const { provider } = realm;
  for (const lists of [
    {},
    { response_types_supported: ["code", "token"], response_modes_supported: ["query", "form_post"] },
    { grant_types_supported: ["authorization_code", "refresh_token"], require_pushed_authorization_requests: false },
    { response_types_supported: undefined, id_token_encryption_alg_values_supported: ["RSA-OAEP"] },
  ]) {
    provider.discovery = lists;
    expect(await failures()).toEqual({});
  }
});

it("the test of a connection gives every reason of the document at once", async () => {
  realm.provider.discovery = { require_pushed_authorization_requests: true, response_modes_supported: ["form_post"] };
  const { endpoints } = await failures();
  expect(endpoints).toContain("require_pushed_authorization_requests");
  expect(endpoints).toContain("response_modes_supported without query");
});

it("the test of a connection passes without a statement about PKCE, and says what that leaves open", async () => {
  realm.provider.discovery = { code_challenge_methods_supported: undefined };
  const { body } = await ask();
  expect(body.ok).toBe(true);
  expect((body.checks as Check[])[4]).toMatchObject({
    name: "pkce",
    ok: true,
    message: expect.stringContaining("S256"),
  });
});

it("the test of a connection tells keys that cannot be used from those that can", async () => {
  const { provider } = realm;
  const { jwk } = await providerKey("ES256");
  const secp256k1 = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" });
  const small = generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey.export({ format: "jwk" });
  for (const keys of [
    "[]",
    `[${Array(1_000).fill(JSON.stringify(jwk)).join()}]`,
    JSON.stringify([{ ...jwk, use: "enc" }]),
    '[{"kty":"oct","k":"AAAA"}]',
    '[{"kty":"RSA","n":1,"e":{}}]',
    JSON.stringify([{ ...jwk, alg: "ECDH-ES" }]),
    JSON.stringify([{ ...jwk, key_ops: ["deriveKey"] }]),
    JSON.stringify([secp256k1, small]),
    "[null]",
    "7",
  ]) {
    provider.answers.set("/jwks", raw(200, `{"keys":${keys}}`));
    expect(Object.keys(await failures())).toEqual(["jwks"]);
  }
  provider.answers.set("/jwks", raw(200, JSON.stringify({ keys: [{ kty: "unknown" }, jwk] })));
  expect(await failures()).toEqual({});
});

it("the test of a connection says when the token endpoint refuses the client, or fails", async () => {
  const { provider } = realm;
  const said = async (answer: ReturnType<typeof raw>) => {
    provider.answers.set("/token", answer);
    return (await failures())["endpoints"];
  };
  expect(await said(raw(401, '{"error":"invalid_client"}', { "www-authenticate": "Basic" }))).toContain(
    "client secret",
  );
  expect(await said(raw(400, '{"error":"unauthorized_client"}'))).toContain(
    "unauthorized_client, by client_secret_basic",
  );
  provider.discovery = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
  expect(await said(raw(401, '{"error":"invalid_client"}'))).toContain("invalid_client, by client_secret_post");
  provider.discovery = {};
  expect(await said(raw(400, '{"error":"unsupported_grant_type"}'))).toContain("authorization codes");
  expect(await said(raw(503, "{}"))).toContain("503");
  expect(await said(raw(404, "{}"))).toContain("404");
  expect(await said(raw(302, "", { location: "/elsewhere" }))).toContain("302");
  expect(await said((_, to) => void to.socket?.destroy())).toContain("could not be reached");
  for (const harmless of [
    raw(400, '{"error":"invalid_grant"}'),
    raw(400, "<html>"),
    raw(200, "{}"),
    raw(200, "null"),
    raw(403, '{"error":"invalid_grant"}'),
  ])
    expect(await said(harmless)).toBeUndefined();
});

it("the test of a connection asks past the cache, and a host that does not resolve is a verdict", async () => {
  const { app, owner, provider } = realm;
  const before = provider.requests.get(DISCOVERY) ?? 0;
  expect(await failures()).toEqual({});
  expect(await failures()).toEqual({});
  expect(provider.requests.get(DISCOVERY)).toBe(before + 2);
  const { body } = await connect(app, { ...owner, token }, `https://nowhere.invalid${DISCOVERY}`);
  expect((await failures(body.connection_uuid as string))["discovery"]).toContain("does not resolve");
});
