import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { callerOrg } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { toPem } from "../../platform/x509/pem.ts";
import { REFRESH_HINT_SECONDS } from "./bundles.ts";
import type { BundleKey, CacheHeaders } from "./bundles.ts";
import type { Spiffe } from "./spiffe.ts";

/** Implements `atrium.spiffe.v1.SpiffeService`. */
export function spiffeRpc({ bundles }: Spiffe, contexts: RequestContexts): Partial<ServiceImpl<typeof SpiffeService>> {
  return {
    async getRootCertificate({ orgUuid }, call) {
      const { certificate, headers } = await bundles.rootCertificate(orgUuid.toLowerCase());
      setHeaders(call, headers);
      return { contentType: "application/x-pem-file", data: Buffer.from(toPem(certificate, "CERTIFICATE")) };
    },
    async getTrustBundle(_request, call) {
      const { caller } = contexts.authenticated(call);
      const { trustDomain, authorities } = await bundles.trustBundle(callerOrg(caller));
      return { trustDomain, x509Authorities: authorities.map((asn1) => ({ asn1 })) };
    },
    async getSpiffeBundle({ orgUuid }, call) {
      const { keys, sequence, headers } = await bundles.spiffeBundle(orgUuid.toLowerCase());
      setHeaders(call, headers);
      return { keys: keys.map(printKey), spiffeSequence: sequence, spiffeRefreshHint: REFRESH_HINT_SECONDS };
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
