import { createPrivateKey, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, invite, member, outcome } from "../support/people.ts";
import { identity, issue, OpenSsl, rootOf, workloads } from "./support.ts";
import type { Workloads } from "./support.ts";

let app: TestApp;
let owner: Workloads;
const openssl = new OpenSsl();
beforeAll(async () => {
  app = await startApp();
  owner = await workloads(app);
});
afterAll(async () => {
  openssl.close();
  await app.close();
});

const unknownId = "3e0cbf0b-7a6e-4b92-9c33-0d9b1c6c7f4e";

describe("issuing an SVID", () => {
  test("an SVID has certificate, private key and record, and no cache keeps it", async () => {
    const answer = await issue(app, owner);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { certificate_pem: pem, private_key_pem: key, ...record } = answer.body;
    const certificate = new X509Certificate(pem as string);
    expect(certificate.checkPrivateKey(createPrivateKey(key as string))).toBe(true);
    expect(certificate.checkIssued(await rootOf(app, owner.org))).toBe(true);
    expect(certificate.subjectAltName).toBe(`URI:${owner.domain}/svc/${owner.identityId}`);
    expect(record).toEqual({
      svid_id: expect.stringMatching(/^[0-9a-f-]{36}$/u) as string,
      spiffe_id: `${owner.domain}/svc/${owner.identityId}`,
      service_identity_id: owner.identityId,
      serial: certificate.serialNumber.toLowerCase(),
      not_before: certificate.validFromDate.toISOString().replace(".000", ""),
      not_after: certificate.validToDate.toISOString().replace(".000", ""),
      status: "active",
      revoked_at: null,
      created_at: expect.any(String) as string,
    });
    expect(record.serial).toMatch(/^[0-9a-f]{32}$/u);
    expect(certificate.validToDate.getTime() - certificate.validFromDate.getTime()).toBe(3_600_000);
  });

  test("openssl verifies an SVID for client and server, and reads what the SPIFFE standard demands of it", async () => {
    const { body } = await issue(app, owner, { ttl_hours: 24 });
    const root = openssl.file("root.pem", (await rootOf(app, owner.org)).toString());
    const leaf = openssl.file("leaf.pem", body.certificate_pem as string);
    for (const purpose of ["sslclient", "sslserver"])
      expect(openssl.run("verify", "-x509_strict", "-purpose", purpose, "-CAfile", root, leaf)).toContain("OK");
    const text = openssl.run("x509", "-in", leaf, "-noout", "-text");
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/u);
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/u);
    expect(text).toMatch(/TLS Web Client Authentication, TLS Web Server Authentication/u);
    expect(text.match(/URI:spiffe/gu)).toHaveLength(1);
    expect(text).toContain(`URI:http://atrium.test/orgs/${owner.org}/.well-known/ca.crl?issuer=spiffe`);
    expect(text).toContain("ASN1 OID: prime256v1");
  });

  test("a platform administrator obtains no SVID of an identity whose role goes beyond their own power", async () => {
    const { token: invitation } = await invite(app, owner, app.owner.email, 3);
    const accepted = await app.call("POST", "/api/auth/invite/accept", {
      token: await app.login(),
      body: { token: invitation },
    });
    const elevated = await elevate(app, accepted.body.data.access_token as string, app.owner.password);
    const [admins, employees] = [await identity(app, owner, 1), await identity(app, owner, 3)];
    const jwt = (identityId: string) =>
      app.call("POST", "/api/auth/spiffe/jwt-svid", {
        token: elevated,
        body: { identity_id: identityId, audience: ["https://db.test"] },
      });
    for (const answer of [await issue(app, { elevated, identityId: admins }), await jwt(admins)])
      expect(outcome(answer)).toBe("403 forbidden");
    expect([
      outcome(await issue(app, { elevated, identityId: employees })),
      outcome(await jwt(employees)),
      outcome(await issue(app, { elevated: owner.elevated, identityId: admins })),
    ]).toEqual(["201", "200", "201"]);
  });

  test("san_uris names one other SPIFFE id inside the trust domain", async () => {
    for (const path of ["/web", "/ns/prod/sa/api.v1_x", `/svc/${owner.identityId}`]) {
      const { status, body } = await issue(app, owner, { san_uris: [`${owner.domain}${path}`] });
      expect(status).toBe(201);
      expect(body.spiffe_id).toBe(`${owner.domain}${path}`);
      expect(new X509Certificate(body.certificate_pem as string).subjectAltName).toBe(`URI:${owner.domain}${path}`);
    }
  });

  test("a SPIFFE id that is not valid, not inside the trust domain or another identity's returns 400", async () => {
    const other = await identity(app, owner);
    const foreign = await founder(app);
    const refused = [
      [`${owner.domain}/svc/${other}`],
      [`${owner.domain}/svc/anything`],
      [`${owner.domain}/svc/${owner.identityId}/child`],
      [`${owner.domain}/svc/../web`],
      [`spiffe://${foreign.org}.atrium.local/web`],
      [`spiffe://${owner.org}.atrium.local.evil.test/web`],
      [owner.domain],
      [`${owner.domain}/`],
      [`${owner.domain}//web`],
      [`${owner.domain}/web/`],
      [`${owner.domain}/%77eb`],
      [`${owner.domain}/web?x=1`],
      [`${owner.domain}/web#x`],
      [`${owner.domain}/we b`],
      [`${owner.domain}/wéb`],
      [`${owner.domain}:443/web`],
      [`https://${owner.org}.atrium.local/web`],
      [`SPIFFE://${owner.org}.atrium.local/web`],
      [`${owner.domain}/${"a".repeat(2_048)}`],
      [`${owner.domain}/one`, `${owner.domain}/two`],
      [""],
    ];
    for (const sanUris of refused)
      expect(await issue(app, owner, { san_uris: sanUris }), JSON.stringify(sanUris)).toMatchObject({
        status: 400,
        body: { code: "validation_error" },
      });
  });

  test("lifetimes are 1 to 24 hours", async () => {
    for (const ttl of [0, 25, -1, 1.5, "x", null, 4_294_967_296]) {
      const { status, body } = await issue(app, owner, { ttl_hours: ttl });
      // null counts as absent, as protobuf JSON has it.
      if (ttl === null) expect(status).toBe(201);
      else expect({ ttl, status, code: body.code as string }).toEqual({ ttl, status: 400, code: "validation_error" });
    }
  });

  test("an SVID never outlives the root", async () => {
    const late = await startApp();
    try {
      const org = (await late.call("GET", "/api/auth/me", { token: await late.login() })).body.org_uuid as string;
      const root = await rootOf(late, org);
      late.clock.set(root.validToDate.getTime() - 3_600_000);
      const token = await late.login();
      const they = { elevated: await elevate(late, token), identityId: await identity(late, { org, token }) };
      const { status, body } = await issue(late, they, { ttl_hours: 24 });
      expect(status).toBe(201);
      expect(new X509Certificate(body.certificate_pem as string).validTo).toBe(root.validTo);
    } finally {
      await late.close();
    }
  });

  test("only elevated administrators issue SVIDs, to identities of their organization", async () => {
    const issuedBy = (token: string | undefined, identityId = owner.identityId) =>
      app.call("POST", "/api/auth/spiffe/svid", { token, body: { service_identity_id: identityId } });
    expect(await issuedBy(undefined)).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(await issuedBy(owner.token)).toMatchObject({ status: 403, body: { code: "step_up_required" } });
    const employee = await member(app, owner);
    expect(await issuedBy(employee.token)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    const foreign = await workloads(app);
    expect(await issuedBy(owner.elevated, foreign.identityId)).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
    expect(await issuedBy(owner.elevated, unknownId)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await issuedBy(owner.elevated, "no-uuid")).toMatchObject({
      status: 400,
      body: { code: "validation_error" },
    });
  });

  test("a repeated Idempotency-Key returns the same SVID", async () => {
    const send = () =>
      app.call("POST", "/api/auth/spiffe/svid", {
        token: owner.elevated,
        headers: { "idempotency-key": "svid-1" },
        body: { service_identity_id: owner.identityId },
      });
    const [first, second] = [await send(), await send()];
    expect(first.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });
});
