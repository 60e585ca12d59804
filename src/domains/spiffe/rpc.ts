import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { callerOrg } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { toPem } from "../../platform/x509/pem.ts";
import type { MtlsCa } from "../mtls-ca/index.ts";
import { printSvid } from "../service-identities/index.ts";
import type { SvidFilter } from "../service-identities/index.ts";
import { REFRESH_HINT_SECONDS } from "./bundles.ts";
import type { BundleKey, CacheHeaders } from "./bundles.ts";
import type { Spiffe } from "./spiffe.ts";

const PEM = "application/x-pem-file";

/** Implements `atrium.spiffe.v1.SpiffeService`. */
export function spiffeRpc(
  { bundles, svids, jwtSvids, crl }: Spiffe,
  { revocationLists }: Pick<MtlsCa, "revocationLists">,
  contexts: RequestContexts,
  clock: Clock,
): ServiceImpl<typeof SpiffeService> {
  return {
    async getRootCertificate({ orgUuid }, call) {
      const { certificate, headers } = await bundles.rootCertificate(orgUuid);
      setHeaders(call, headers);
      return { contentType: PEM, data: Buffer.from(toPem(certificate, "CERTIFICATE")) };
    },
    async getTrustBundle(_request, call) {
      const { caller } = contexts.authenticated(call);
      const { trustDomain, authorities } = await bundles.trustBundle(callerOrg(caller));
      return { trustDomain, x509Authorities: authorities.map((asn1) => ({ asn1 })) };
    },
    async issueSvid({ serviceIdentityId, ttlHours, sanUris: [spiffeId] }, call) {
      const request = { identityId: serviceIdentityId, ttlHours, spiffeId };
      const { certificatePem, privateKeyPem, ...svid } = await svids.issue(contexts.authenticated(call), request);
      return { ...printSvid(svid, clock.now()), certificatePem, privateKeyPem };
    },
    async issueJwtSvid({ identityId, audience, ttlSeconds }, call) {
      const { svid, spiffeId, expiresAt } = await jwtSvids.issue(contexts.authenticated(call), {
        identityId,
        audience,
        ttlSeconds,
      });
      return { svid, spiffeId, expiresAt: timestampFromDate(expiresAt) };
    },
    async listSvids({ serviceIdentityId, status, ...request }, call) {
      const page = pageOf(request);
      // The field rules of the contract know no other status.
      const filter = { identityId: serviceIdentityId, status: status as SvidFilter["status"] };
      const { rows, ...total } = await svids.list(contexts.authenticated(call), filter, page);
      return { data: rows.map((row) => printSvid(row, clock.now())), ...total, ...page };
    },
    async revokeSvid({ svidId }, call) {
      await svids.revoke(contexts.authenticated(call), svidId);
      return {};
    },
    async getSpiffeBundle({ orgUuid }, call) {
      const { keys, sequence, headers } = await bundles.spiffeBundle(orgUuid);
      setHeaders(call, headers);
      return { keys: keys.map(printKey), spiffeSequence: sequence, spiffeRefreshHint: REFRESH_HINT_SECONDS };
    },
    async getRevocationList({ orgUuid, caUuid, format, issuer }, call) {
      const isPem = format === "pem";
      const contentType = isPem ? PEM : "application/pkix-crl";
      if (issuer !== "spiffe") {
        const { data, headers } = await revocationLists.ofOrganization(orgUuid, caUuid, isPem ? "pem" : "der");
        setHeaders(call, headers);
        return { contentType, data };
      }
      const { list, headers } = await crl.of(orgUuid);
      setHeaders(call, headers);
      return { contentType, data: isPem ? Buffer.from(toPem(list, "X509 CRL")) : list };
    },
  };
}

function setHeaders(call: HandlerContext, headers: CacheHeaders): void {
  for (const [name, value] of Object.entries(headers)) call.responseHeader.set(name, value);
}

function printKey(key: BundleKey) {
  const { use, kty, crv, x, y } = key;
  const shared = { use, kty, crv, x, y };
  return key.use === "x509-svid"
    ? { ...shared, x5c: [key.certificate.toString("base64")] }
    : { ...shared, kid: key.kid, alg: "ES256" };
}
