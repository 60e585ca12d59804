import { createPrivateKey, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, elevated, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { authorityOf } from "./support.ts";

const DAY_MS = 86_400_000;
const second = (ms: number): string => new Date(Math.floor(ms / 1_000) * 1_000).toISOString().replace(".000Z", "Z");

let app: TestApp;
let owner: Somebody;
let ca: ReturnType<typeof authorityOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
beforeEach(async () => {
  owner = await founder(app);
  ca = authorityOf(app, owner);
});
afterAll(() => app.close());

describe("an organization's authority", () => {
  test("it is created once, read, deleted and created again", async () => {
    expect(outcome(await ca.read())).toBe("404 not_found");
    const made = await ca.create({ common_name: "Müller & Söhne", validity_days: 30 });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      ca_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      common_name: "Müller & Söhne",
      key_algorithm: "ecdsa-p256",
      certificate: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/u),
      expires_at: second(app.clock.now() + 30 * DAY_MS),
      created_at: expect.any(String),
    });
    const certificate = new X509Certificate(made.body.certificate);
    expect(certificate).toMatchObject({ subject: "CN=Müller & Söhne", issuer: "CN=Müller & Söhne", ca: true });
    expect((await ca.read()).body).toEqual(made.body);
    expect(outcome(await ca.create())).toBe("409 conflict");
    expect(outcome(await ca.remove())).toBe("204");
    expect([outcome(await ca.read()), outcome(await ca.remove())]).toEqual(["404 not_found", "404 not_found"]);
    expect(outcome(await ca.issue())).toBe("404 not_found");
    const again = await ca.create({ common_name: "Müller & Söhne" });
    expect(again.body.ca_uuid).not.toBe(made.body.ca_uuid);
    expect(await auditOf(app, owner, "ca.deleted")).toMatchObject([{ resource_id: made.body.ca_uuid }]);
  });

  test("its key has RSA 4096 and its certificate ten years unless the request says otherwise", async () => {
    const { status, body } = await ca.create({ key_algorithm: undefined });
    expect([status, body.key_algorithm]).toEqual([201, "rsa4096"]);
    expect(new X509Certificate(body.certificate).publicKey.asymmetricKeyDetails?.modulusLength).toBe(4_096);
    expect(body.expires_at).toBe(second(app.clock.now() + 3_650 * DAY_MS));
  });

  test("of parallel creations one succeeds", async () => {
    const outcomes = (await Promise.all([1, 2, 3, 4].map(() => ca.create()))).map(outcome).sort();
    expect(outcomes).toEqual(["201", "409 conflict", "409 conflict", "409 conflict"]);
  });

  test("values out of range return 400", async () => {
    for (const body of [
      { common_name: "" },
      { common_name: "x".repeat(65) },
      { common_name: "   " },
      { common_name: "a\u0007b" },
      { key_algorithm: "rsa2048" },
      { validity_days: 0 },
      { validity_days: 3_651 },
      { validity_days: 1.5 },
    ])
      expect(outcome(await ca.create(body)), JSON.stringify(body)).toBe("400 validation_error");
    expect((await ca.create({ common_name: "é".repeat(64), validity_days: 3_650 })).status).toBe(201);
  });

  test("a private key is stored sealed, and opens for its own authority only", async () => {
    const mine = await ca.create();
    const foreign = authorityOf(app, await founder(app));
    const other = await foreign.create();
    await runSql(
      app.databaseUrl,
      `update mtls_cas set private_key = (select private_key from mtls_cas where ca_uuid = $2) where ca_uuid = $1`,
      [mine.body.ca_uuid, other.body.ca_uuid],
    );
    expect(outcome(await ca.issue())).toBe("500 internal");
    expect(outcome(await foreign.issue())).toBe("201");
  });

  test("other members and organizations have no access", async () => {
    await ca.create();
    const { body: issued } = await ca.issue();
    const employee = authorityOf(app, await member(app, owner));
    expect(outcome(await employee.issue())).toBe("403 forbidden");
    const stranger = await founder(app);
    expect(outcome(await authorityOf(app, { ...stranger, org: owner.org }).read())).toBe("404 not_found");
    const own = authorityOf(app, stranger);
    await own.create();
    expect(outcome(await own.get(issued.cert_uuid))).toBe("404 not_found");
    expect(outcome(await own.revoke(issued.cert_uuid))).toBe("404 not_found");
  });

  test("it ends with its organization", async () => {
    await ca.create();
    await ca.issue();
    const token = await elevated(app, owner.token);
    expect(outcome(await app.call("DELETE", `/api/organizations/${owner.org}`, { token }))).toBe("204");
    const sql = "select deleted_at is not null as ended from mtls_cas where org_uuid = $1";
    expect(await runSql(app.databaseUrl, sql, [owner.org])).toEqual([{ ended: true }]);
  });
});

describe("certificates", () => {
  test("one with a key of the service has what was asked for, and its key is shown once", async () => {
    const { body: authority } = await ca.create();
    const sans = ["client.example", "*.internal.example", "192.0.2.7", "2001:db8::7"];
    const answer = await ca.issue({ common_name: "billing", sans, validity_days: 30, metadata: { team: "core" } });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { certificate: pem, private_key: privateKey, ...record } = answer.body;
    const certificate = new X509Certificate(pem);
    expect(record).toEqual({
      cert_uuid: expect.any(String),
      serial: certificate.serialNumber.toLowerCase(),
      common_name: "billing",
      sans,
      fingerprint_sha256: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
      not_before: second(app.clock.now()),
      not_after: second(app.clock.now() + 30 * DAY_MS),
      status: "active",
      revoked_at: null,
      metadata: { team: "core" },
    });
    expect(record.serial).toMatch(/^[0-9a-f]{32}$/u);
    expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/u);
    expect(certificate.checkPrivateKey(createPrivateKey(privateKey))).toBe(true);
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    const issuer = new X509Certificate(authority.certificate);
    expect([certificate.checkIssued(issuer), certificate.verify(issuer.publicKey)]).toEqual([true, true]);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect((await ca.get(record.cert_uuid)).body).toEqual({ ...record, certificate: pem });
    expect((await ca.list()).body).toEqual({ data: [record], total: 1, limit: 50, offset: 0 });
    expect(await auditOf(app, owner, "certificate.issued")).toMatchObject([
      { resource_id: record.cert_uuid, metadata: { serial: record.serial } },
    ]);
  });

  test("an end after the authority's returns 400, and the default ends with the authority", async () => {
    const { body } = await ca.create({ validity_days: 20 });
    expect(outcome(await ca.issue({ validity_days: 21 }))).toBe("400 validation_error");
    expect((await ca.issue({ validity_days: 20 })).status).toBe(201);
    expect((await ca.issue()).body.not_after).toBe(body.expires_at);
    for (const validity_days of [0, 826, 1.5])
      expect(outcome(await ca.issue({ validity_days }))).toBe("400 validation_error");
  });

  test("the same Idempotency-Key returns the same certificate and key", async () => {
    await ca.create();
    const headers = { "idempotency-key": "once" };
    const first = await ca.issue({}, headers);
    const second = await ca.issue({}, headers);
    expect(second.body).toEqual(first.body);
    expect((await ca.list()).body.total).toBe(1);
  });

  test("revocation is final: a second one returns 409, and of parallel ones one succeeds", async () => {
    await ca.create();
    const { body } = await ca.issue();
    const outcomes = (await Promise.all([1, 2, 3, 4, 5].map(() => ca.revoke(body.cert_uuid)))).map(outcome).sort();
    expect(outcomes).toEqual(["204", ...Array.from({ length: 4 }, () => "409 already_revoked")]);
    expect((await ca.get(body.cert_uuid)).body).toMatchObject({ status: "revoked", revoked_at: expect.any(String) });
    expect(outcome(await ca.revoke("0b1d2a3e-aaaa-4000-8000-00000000000f"))).toBe("404 not_found");
    expect(outcome(await ca.revoke("nothing"))).toBe("400 invalid_uuid");
    expect(await auditOf(app, owner, "certificate.revoked")).toMatchObject([{ resource_id: body.cert_uuid }]);
  });

  test("the deletion of the authority revokes everything it issued", async () => {
    await ca.create();
    const { body: first } = await ca.issue();
    const { body: second } = await ca.issue();
    await ca.revoke(first.cert_uuid);
    const { body: before } = await ca.get(first.cert_uuid);
    app.clock.advance(5_000);
    await ca.remove();
    expect((await ca.list("?status=revoked")).body.total).toBe(2);
    expect((await ca.get(first.cert_uuid)).body.revoked_at).toBe(before.revoked_at);
    expect((await ca.get(second.cert_uuid)).body.status).toBe("revoked");
    expect(outcome(await ca.revoke(second.cert_uuid))).toBe("409 already_revoked");
  });

  test("parallel issues and a deletion leave no active certificate", async () => {
    await ca.create();
    const issues = Array.from({ length: 8 }, () => ca.issue());
    const [, ...answers] = await Promise.all([ca.remove(), ...issues]);
    for (const answer of answers) expect(["201", "404 not_found"]).toContain(outcome(answer));
    expect((await ca.list("?status=active")).body.total).toBe(0);
  });
});
