import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
});
afterAll(() => app.close());

const root = async (): Promise<X509Certificate> =>
  new X509Certificate((await app.call("GET", `/orgs/${owner.org}/.well-known/ca.pem`)).text);

describe("the trust bundle", () => {
  test("the trust bundle names the trust domain without scheme and has the root as base64 DER", async () => {
    const { status, body } = await app.call("GET", "/api/auth/spiffe/trust-bundle", { token: owner.token });
    expect(status).toBe(200);
    expect(body).toEqual({
      trust_domain: `${owner.org}.atrium.local`,
      x509_authorities: [{ asn1: (await root()).raw.toString("base64") }],
    });
  });

  test("any credential of the organization reads the trust bundle, and no credential does not", async () => {
    const key = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
      token: owner.token,
      body: { name: "reader", scopes: ["read:users"] },
    });
    const read = (token?: string) => app.call("GET", "/api/auth/spiffe/trust-bundle", { token });
    expect((await read(key.body.api_key)).body).toEqual((await read(owner.token)).body);
    expect(await read()).toMatchObject({ status: 401, body: { code: "unauthorized" } });
  });

  test("a service with another trust domain puts its organizations below that one", async () => {
    const other = await startApp({ env: { SERVICE_TRUST_DOMAIN: "prod.example.test" } });
    try {
      const { token, org } = await founder(other);
      const { body } = await other.call("GET", "/api/auth/spiffe/trust-bundle", { token });
      expect(body.trust_domain).toBe(`${org}.prod.example.test`);
      const pem = (await other.call("GET", `/orgs/${org}/.well-known/ca.pem`)).text;
      expect(new X509Certificate(pem).subjectAltName).toBe(`URI:spiffe://${org}.prod.example.test`);
    } finally {
      await other.close();
    }
  });
});

describe("the SPIFFE bundle", () => {
  const read = (headers: Record<string, string> = {}) =>
    app.call("GET", `/orgs/${owner.org}/.well-known/spiffe-bundle`, { headers });

  test("the public bundle has a key of each use, a sequence number and a refresh hint", async () => {
    const { status, headers, body } = await read();
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(Object.keys(body).sort()).toEqual(["keys", "spiffe_refresh_hint", "spiffe_sequence"]);
    expect(body).toMatchObject({ spiffe_sequence: 1, spiffe_refresh_hint: 300 });
    const certificate = await root();
    expect(body.keys).toEqual([
      {
        use: "x509-svid",
        ...certificate.publicKey.export({ format: "jwk" }),
        x5c: [certificate.raw.toString("base64")],
      },
      {
        use: "jwt-svid",
        kty: "EC",
        crv: "P-256",
        alg: "ES256",
        kid: expect.stringMatching(/^[\w-]{43}$/u) as string,
        x: expect.any(String) as string,
        y: expect.any(String) as string,
      },
    ]);
    expect(body.keys[1].x).not.toBe(body.keys[0].x);
  });

  test("a consumer that has the bundle already receives 304", async () => {
    const { headers } = await read();
    const etag = headers.get("etag") ?? "";
    expect(headers.get("cache-control")).toBe("public, max-age=300");
    expect(await read({ "if-none-match": etag })).toMatchObject({ status: 304, text: "" });
    expect((await read({ "if-none-match": '"other"' })).status).toBe(200);
  });
});

test("bundle, root and revocation list of an organization that has ended are 404, as those of none", async () => {
  const ended = await founder(app);
  const unknown = "3e0cbf0b-7a6e-4b92-9c33-0d9b1c6c7f4e";
  const documents = ["ca.pem", "spiffe-bundle", "ca.crl?issuer=spiffe", "ca.crl?issuer=spiffe&format=pem"];
  const read = (org: string, document: string) => app.call("GET", `/orgs/${org}/.well-known/${document}`);
  for (const document of documents) expect((await read(ended.org, document)).status).toBe(200);
  const token = await elevate(app, ended.token, password);
  expect((await app.call("DELETE", `/api/organizations/${ended.org}`, { token })).status).toBe(204);
  for (const document of documents) {
    const [{ status, body }, none] = [await read(ended.org, document), await read(unknown, document)];
    expect([document, status, body.code]).toEqual([document, 404, "not_found"]);
    expect([none.status, none.body.message]).toEqual([404, body.message]);
  }
  expect(outcome(await app.call("GET", "/api/auth/spiffe/trust-bundle", { token }))).toBe("401 unauthorized");
});
