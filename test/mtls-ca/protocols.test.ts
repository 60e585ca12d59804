import { Code } from "@connectrpc/connect";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import { MtlsCaService } from "../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { SpiffeService } from "../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { OpenSsl } from "../spiffe/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";

let app: TestApp;
const bench = new OpenSsl();
let csr: string;
let publicKey: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  publicKey = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
  const key = bench.file("key.pem", pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  csr = bench.run("req", "-new", "-key", key, "-subj", "/CN=from the request");
});
afterAll(async () => {
  bench.close();
  await app.close();
});

interface World extends Somebody {
  employee: string;
}

const rpc = MtlsCaService.method;
const crl = SpiffeService.method.getRevocationList;
const NOBODY = "0b1d2a3e-aaaa-4000-8000-00000000000f";

/** Serial numbers that a revocation list names. */
function revokedIn(pem: Uint8Array): number {
  return bench.run("crl", "-noout", "-text", "-in", bench.file("list.pem", pem)).split("Serial Number:").length - 1;
}

sameLives<World>("certificate authorities", {
  services: [MtlsCaService],
  // Their revocation list is an rpc of the SPIFFE area, whose own life has the rest of it.
  also: [crl],
  app: () => app,
  async prepare() {
    const owner = await founder(app);
    return { ...owner, employee: (await member(app, owner)).token };
  },
  async live({ ok, refused }, { org: orgUuid, token, employee }) {
    const [owner, person] = [{ token }, { token: employee }];
    const missing = "404 not_found";
    const invalid = "400 validation_error";
    const client = { orgUuid, commonName: "client" };

    await refused(rpc.getCa, { orgUuid }, missing, owner);
    await refused(rpc.deleteCa, { orgUuid }, missing, owner);
    await refused(rpc.issueCertificate, client, missing, owner);
    await refused(crl, { orgUuid }, missing);
    await refused(rpc.createCa, { orgUuid, keyAlgorithm: "rsa1024", validityDays: 4_000 }, invalid, owner);
    await refused(rpc.createCa, { orgUuid, commonName: "Root" }, "403 forbidden", person);
    const root = { orgUuid, commonName: "Röot", keyAlgorithm: "ecdsa-p256", validityDays: 30 };
    const ca = await ok(rpc.createCa, root, owner);
    await refused(rpc.createCa, root, "409 conflict", { token, rpc: Code.AlreadyExists });
    expect(await ok(rpc.getCa, { orgUuid }, owner)).toEqual(ca);

    const sans = ["client.test", "*.client.test", "192.0.2.1", "2001:db8::1"];
    const full = { ...client, sans, validityDays: 7, metadata: { team: "é", empty: "" } };
    const issued = await ok(rpc.issueCertificate, full, owner);
    expect(issued.privateKey).toContain("PRIVATE KEY");
    const requested = await ok(rpc.issueCertificate, { ...client, validityDays: 1, csr }, owner);
    expect(requested.privateKey).toBeUndefined();
    const leaf = new X509Certificate(requested.certificate ?? "");
    expect(leaf.publicKey.export({ type: "spki", format: "pem" })).toBe(publicKey);
    expect(leaf.checkIssued(new X509Certificate(ca.certificate))).toBe(true);
    await refused(rpc.issueCertificate, { ...client, csr: "nonsense" }, invalid, owner);
    await refused(rpc.issueCertificate, { ...client, validityDays: 31 }, invalid, owner);
    const uris = ["spiffe://x", "a@b.test"];
    await refused(rpc.issueCertificate, { ...client, sans: uris, validityDays: 826 }, invalid, owner);
    await refused(rpc.issueCertificate, { ...client, sans: uris }, invalid, owner);

    const { certUuid } = issued;
    await ok(rpc.getCertificate, { orgUuid, certUuid }, owner);
    await refused(rpc.getCertificate, { orgUuid, certUuid: NOBODY }, missing, owner);
    await refused(rpc.getCertificate, { orgUuid, certUuid: "x" }, "400 invalid_uuid", owner);
    await ok(rpc.listCertificates, { orgUuid, sort: "not_after" }, owner);
    await ok(rpc.listCertificates, { orgUuid, limit: 1, offset: 1, sort: "-not_after", q: "CLIENT" }, owner);
    await ok(rpc.listCertificates, { orgUuid, status: "expired" }, owner);
    await refused(rpc.listCertificates, { orgUuid, status: "lost", limit: 201 }, invalid, owner);

    expect(revokedIn((await ok(crl, { orgUuid, format: "pem" })).data)).toBe(0);
    await ok(rpc.revokeCertificate, { orgUuid, certUuid }, owner);
    await refused(rpc.revokeCertificate, { orgUuid, certUuid }, "409 already_revoked", owner);
    await refused(rpc.revokeCertificate, { orgUuid, certUuid: NOBODY }, missing, owner);
    await ok(rpc.listCertificates, { orgUuid, status: "revoked" }, owner);
    expect(revokedIn((await ok(crl, { orgUuid, format: "pem" })).data)).toBe(1);
    await ok(crl, { orgUuid });
    await refused(crl, { orgUuid, format: "xml" }, invalid);

    await ok(rpc.deleteCa, { orgUuid }, owner);
    await ok(rpc.getCertificate, { orgUuid, certUuid: requested.certUuid }, owner);
    expect(revokedIn((await ok(crl, { orgUuid, format: "pem" })).data)).toBe(2);
    await refused(rpc.getCa, { orgUuid }, missing, owner);
  },
});
