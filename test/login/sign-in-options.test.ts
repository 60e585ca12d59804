import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { elevate } from "../support/elevate.ts";

let app: TestApp;
let org: string;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
});
afterAll(() => app.close());

const options = (name?: string) =>
  app.call("GET", `/api/auth/sign-in-options${name === undefined ? "" : `?org_name=${encodeURIComponent(name)}`}`);
const WITHOUT_PROVIDER = { password: true, magic_link: true, code: true, sso_required: false, connections: [] };

async function connect(name: string, redirectUris: string[]): Promise<string> {
  const answer = await app.call("POST", `/api/admin/organizations/${org}/oidc-connections`, {
    token,
    body: {
      name,
      provider: "okta",
      client_id: "atrium",
      client_secret: "secret",
      discovery_url: "https://idp.test/.well-known/openid-configuration",
      allowed_domains: ["acme.test"],
      redirect_uris: redirectUris,
    },
  });
  if (answer.status !== 201) throw new Error(`connection answered ${answer.status}: ${answer.text}`);
  return answer.body.connection_uuid as string;
}

it("an unknown name, an empty one and none get what an organization without identity provider gets", async () => {
  for (const name of [undefined, "", "Nobody here", "\u202e", "x".repeat(1024)]) {
    const answer = await options(name);
    expect([answer.status, answer.body]).toEqual([200, WITHOUT_PROVIDER]);
  }
  expect((await options("Acme")).body).toEqual(WITHOUT_PROVIDER);
  expect(outcome(await options("x".repeat(1025)))).toBe("400 validation_error");
});

it("the connections that allow the service's own pages are listed by name, for every spelling of the name", async () => {
  await connect("Elsewhere", ["https://app.test/done"]);
  const okta = await connect("Okta", ["https://app.test/done", "http://atrium.test"]);
  const entra = await connect("Entra", []);
  const connections = [
    { connection_uuid: entra, name: "Entra" },
    { connection_uuid: okta, name: "Okta" },
  ];
  for (const name of ["Acme", " acme ", "ＡＣＭＥ"])
    expect((await options(name)).body).toEqual({ ...WITHOUT_PROVIDER, connections });
  const body = { sso_required: true };
  const elevated = await elevate(app, token);
  const changed = await app.call("PATCH", `/api/organizations/${org}`, { token: elevated, body });
  expect(outcome(changed)).toBe("200");
  expect((await options("Acme")).body).toEqual({ ...WITHOUT_PROVIDER, sso_required: true, connections });
});

it("a former name of an organization gets what an unknown one gets", async () => {
  const renamed = await app.call("PATCH", `/api/organizations/${org}`, { token, body: { name: "Acme Works" } });
  expect(outcome(renamed)).toBe("200");
  expect((await options("Acme")).body).toEqual(WITHOUT_PROVIDER);
  expect((await options("Acme Works")).body.sso_required).toBe(true);
});

it("mailed links and codes are not offered where the installation sends no mail", async () => {
  const silent = await startApp({ env: { SERVICE_MAIL: "off" } });
  try {
    const { body } = await silent.call("GET", "/api/auth/sign-in-options?org_name=Acme");
    expect(body).toEqual({ ...WITHOUT_PROVIDER, magic_link: false, code: false });
  } finally {
    await silent.close();
  }
});

it("the rate of the name check holds for sign-in options, by address", async () => {
  const limited = await startApp({ env: { SERVICE_RATE_LIMITS: "on" } });
  try {
    const answers = [];
    for (let call = 0; call < 31; call++) answers.push(await limited.call("GET", "/api/auth/sign-in-options"));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 30 }, () => 200), 429]);
  } finally {
    await limited.close();
  }
});
