import { X509Certificate } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect } from "vitest";
import { SpiffeService } from "../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { member } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";
import { workloads } from "./support.ts";
import type { Workloads } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

interface World extends Workloads {
  employee: string;
}

const rpc = SpiffeService.method;
const NOBODY = "0b1d2a3e-aaaa-4000-8000-00000000000f";

sameLives<World>("SVIDs", {
  services: [SpiffeService],
  app: () => app,
  async prepare() {
    const owner = await workloads(app);
    return { ...owner, employee: (await member(app, owner)).token };
  },
  async live({ ok, refused }, { org: orgUuid, token, employee, elevated, identityId, domain }) {
    const [owner, person, stepped] = [{ token }, { token: employee }, { token: elevated }];
    const missing = "404 not_found";
    const invalid = "400 validation_error";
    const serviceIdentityId = identityId;

    const { data } = await ok(rpc.getRootCertificate, { orgUuid });
    const root = new X509Certificate(data);
    await refused(rpc.getRootCertificate, { orgUuid: NOBODY }, missing);
    await refused(rpc.getRootCertificate, { orgUuid: "x" }, "400 invalid_uuid");
    const { x509Authorities } = await ok(rpc.getTrustBundle, {}, person);
    expect(x509Authorities.map(({ asn1 }) => Buffer.from(asn1))).toEqual([root.raw]);
    await refused(rpc.getTrustBundle, {}, "401 unauthorized");

    const svid = await ok(rpc.issueSvid, { serviceIdentityId }, stepped);
    expect(new X509Certificate(svid.certificatePem).verify(root.publicKey)).toBe(true);
    const named = { serviceIdentityId, ttlHours: 24, sanUris: [`${domain}/named/é`] };
    await refused(rpc.issueSvid, named, invalid, stepped);
    await ok(rpc.issueSvid, { ...named, sanUris: [`${domain}/named`] }, stepped);
    await refused(rpc.issueSvid, { serviceIdentityId, sanUris: [`${domain}/a`, `${domain}/b`] }, invalid, stepped);
    await refused(rpc.issueSvid, { serviceIdentityId: "x", ttlHours: 25 }, invalid, stepped);
    await refused(rpc.issueSvid, { serviceIdentityId: NOBODY }, missing, stepped);
    await refused(rpc.issueSvid, { serviceIdentityId }, "403 step_up_required", owner);
    await refused(rpc.issueSvid, { serviceIdentityId }, "403 forbidden", person);

    const audience = ["spiffe://other.test/api", "billing"];
    const jwt = await ok(rpc.issueJwtSvid, { identityId, audience, ttlSeconds: 60 }, stepped);
    expect(decodeJwt(jwt.svid)).toMatchObject({ aud: audience, sub: `${domain}/svc/${identityId}` });
    await ok(rpc.issueJwtSvid, { identityId, audience: ["api"] }, stepped);
    await refused(rpc.issueJwtSvid, { identityId, audience: ["a", "a"], ttlSeconds: 59 }, invalid, stepped);
    await refused(rpc.issueJwtSvid, { audience: [] }, invalid, stepped);
    await refused(rpc.issueJwtSvid, { identityId: NOBODY, audience }, missing, stepped);
    await refused(rpc.issueJwtSvid, { identityId, audience }, "403 step_up_required", owner);

    await ok(rpc.listSvids, {}, owner);
    await ok(rpc.listSvids, { serviceIdentityId, status: "active", limit: 1, offset: 1, sort: "created_at" }, owner);
    await ok(rpc.listSvids, { status: "expired" }, owner);
    await refused(rpc.listSvids, { serviceIdentityId: "x", sort: "name" }, invalid, owner);

    await ok(rpc.revokeSvid, { svidId: svid.svidId }, owner);
    await refused(rpc.revokeSvid, { svidId: svid.svidId }, "409 already_revoked", owner);
    await refused(rpc.revokeSvid, { svidId: NOBODY }, missing, owner);
    await ok(rpc.listSvids, { status: "revoked" }, owner);

    await ok(rpc.getSpiffeBundle, { orgUuid });
    await refused(rpc.getSpiffeBundle, { orgUuid: NOBODY }, missing);
    await ok(rpc.getRevocationList, { orgUuid, issuer: "spiffe" });
    await ok(rpc.getRevocationList, { orgUuid, issuer: "spiffe", format: "pem" });
    await refused(rpc.getRevocationList, { orgUuid }, missing);
    await refused(rpc.getRevocationList, { orgUuid, issuer: "other", caUuid: "x" }, invalid);
  },
});
