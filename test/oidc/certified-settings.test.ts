import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { startOpenidProvider } from "./openid-provider.ts";
import type { ProviderSettings } from "./openid-provider.ts";
import { connect, redeem, sessionTokenOf } from "./support.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const me = (token: string) => app.call("GET", "/api/auth/me", { token });

it.each<[string, ProviderSettings]>([
  ["keys of the curve P-256", { alg: "ES256" }],
  ["keys of the curve P-384", { alg: "ES384" }],
  ["keys of the curve Ed25519", { alg: "EdDSA" }],
  ["signatures by RSA-PSS", { alg: "PS256" }],
  ["signatures with SHA-512", { alg: "RS512" }],
  ["an issuer with a path", { path: "/realms/corp" }],
  ["an issuer with a path that ends in a slash", { path: "/realms/corp/" }],
  [
    "client secrets in the body alone",
    {
      client: { token_endpoint_auth_method: "client_secret_post" },
      configuration: { clientAuthMethods: ["client_secret_post"] },
    },
  ],
  ["claims in ID tokens", { configuration: { conformIdTokenClaims: false } }],
  [
    "signed userinfo",
    {
      alg: "ES256",
      client: { userinfo_signed_response_alg: "ES256" },
      configuration: { features: { jwtUserinfo: { enabled: true } } },
    },
  ],
  [
    "subjects of each client alone",
    {
      client: { subject_type: "pairwise" },
      configuration: { subjectTypes: ["pairwise"], pairwiseIdentifier: (_ctx, id) => `pair-${id}` },
    },
  ],
])("a certified provider with %s passes the test, signs in, and ends the session", async (about, settings) => {
  const provider = await startOpenidProvider(app, {
    ...settings,
    configuration: {
      enabledJWA: {
        idTokenSigningAlgValues: [settings.alg ?? "RS256"],
        userinfoSigningAlgValues: [settings.alg ?? "RS256"],
      } as NonNullable<ProviderSettings["configuration"]>["enabledJWA"],
      ...settings.configuration,
    },
  });
  try {
    const { body: made } = await connect(app, owner, provider.discoveryUrl);
    await provider.register(made.redirect_uri as string);
    app.clock.set(Date.now());
    const path = `/api/admin/organizations/${owner.org}/oidc-connections/${made.connection_uuid as string}/test`;
    const token = await elevated(app, owner.token);
    expect((await app.call("POST", path, { token })).body).toMatchObject({ ok: true });
    const browser = provider.browser();
    const begun = await app.call("GET", `/api/auth/oidc/${made.connection_uuid as string}/authorize`);
    const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const person = `p${about.length}`;
    const query = new URLSearchParams(await browser.signIn(begun.headers.get("location") ?? "", person));
    const back = new URL(made.redirect_uri as string).pathname;
    const answer = await app.call("GET", `${back}?${query.toString()}`, { headers: { cookie } });
    expect(answer.status, answer.text).toBe(302);
    const pair = await redeem({ app } as Parameters<typeof redeem>[0], sessionTokenOf(answer), cookie);
    const session = pair.body.access_token as string;
    expect((await me(session)).body).toMatchObject({ email: `${person}@corp.test` });
    await browser.signOut();
    await expect.poll(async () => (await me(session)).status).toBe(401);
  } finally {
    await provider.close();
  }
});
