import { createHash, X509Certificate } from "node:crypto";
import type { PublicRoot } from "./root-store.ts";
import type { Roots } from "./roots.ts";
import type { TrustDomains } from "./trust-domain.ts";

/** Headers for HTTP caches. */
export type CacheHeaders = Readonly<Record<"etag" | "cache-control", string>>;

/** A key of a SPIFFE bundle (SPIFFE Trust Domain and Bundle §4.2). */
export type BundleKey = { kty: string; crv: string; x: string; y: string } & (
  | { use: "x509-svid"; certificate: Buffer }
  | { use: "jwt-svid"; kid: string }
);

/** Seconds after which consumers read a bundle again. */
export const REFRESH_HINT_SECONDS = 300;

/** What verifies the SVIDs of an organization. */
export function createBundles({ roots, trustDomains }: { roots: Pick<Roots, "find">; trustDomains: TrustDomains }) {
  return {
    /**
     * The root certificate of an organization, DER.
     * @throws {not_found} when there is no such organization
     */
    async rootCertificate(orgUuid: string): Promise<{ certificate: Buffer; headers: CacheHeaders }> {
      const root = await roots.find(orgUuid);
      return { certificate: root.certificate, headers: headersOf(root) };
    },

    /** The trust bundle of an organization in SPIRE's form. */
    async trustBundle(orgUuid: string): Promise<{ trustDomain: string; authorities: Buffer[] }> {
      const { certificate } = await roots.find(orgUuid);
      return { trustDomain: trustDomains.nameOf(orgUuid), authorities: [certificate] };
    },

    /**
     * The keys of an organization's bundle.
     * @throws {not_found} when there is no such organization
     */
    async spiffeBundle(orgUuid: string): Promise<{ keys: BundleKey[]; sequence: number; headers: CacheHeaders }> {
      const root = await roots.find(orgUuid);
      const { x = "", y = "" } = new X509Certificate(root.certificate).publicKey.export({ format: "jwk" });
      const keys: BundleKey[] = [
        { use: "x509-svid", kty: "EC", crv: "P-256", x, y, certificate: root.certificate },
        { ...root.jwtPublicJwk, use: "jwt-svid", kid: root.jwtKeyId },
      ];
      return { keys, sequence: root.sequence, headers: headersOf(root) };
    },
  };
}

function headersOf({ certificate, jwtKeyId, sequence }: PublicRoot): CacheHeaders {
  const digest = createHash("sha256").update(certificate).update(`${jwtKeyId} ${sequence}`).digest("base64url");
  return { etag: `"${digest.slice(0, 22)}"`, "cache-control": `public, max-age=${REFRESH_HINT_SECONDS}` };
}
