import { createPrivateKey, X509Certificate } from "node:crypto";
import type { SpiffeBundle } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { CommandError } from "../output.ts";
import type { Server } from "./server.ts";

/** An X.509-SVID with its private key. */
export interface Svid {
  readonly spiffeId: string;
  readonly identityId: string;
  readonly orgUuid: string;
  /** PEM, for calls to the service. */
  readonly cert: string;
  readonly key: string;
  /** DER, for workloads. */
  readonly certDer: Uint8Array<ArrayBuffer>;
  readonly keyDer: Uint8Array<ArrayBuffer>;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** What verifies the SVIDs of the trust domain. */
export interface Trust {
  /** `spiffe://<trust domain>`. */
  readonly trustDomain: string;
  /** Root certificates, DER, one after the other. */
  readonly roots: Uint8Array<ArrayBuffer>;
  /** Revocation list of the root, DER. */
  readonly crl: Uint8Array<ArrayBuffer>;
  /** Keys of JWT-SVIDs as a JWK Set. */
  readonly jwks: string;
}

const bytesOf = (data: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(data);

/** Who the credential of a connection is. @throws {CommandError} when it is no service identity */
export async function whoami({ access }: Server): Promise<{ identityId: string; orgUuid: string }> {
  const { principal, orgUuid } = await access.getMe({});
  if (principal === undefined || !["automation_token", "svid"].includes(principal.type) || orgUuid === undefined)
    throw new CommandError("The token must be an automation token of a service identity.");
  return { identityId: principal.id, orgUuid };
}

/** Obtains an SVID for the service identity of the connection. */
export async function issueSvid(server: Server, who: { identityId: string; orgUuid: string }): Promise<Svid> {
  const issued = await server.spiffe.issueSvid({ serviceIdentityId: who.identityId });
  const certificate = new X509Certificate(issued.certificatePem);
  const keyDer = createPrivateKey(issued.privateKeyPem).export({ format: "der", type: "pkcs8" });
  return {
    ...who,
    spiffeId: issued.spiffeId,
    cert: issued.certificatePem,
    key: issued.privateKeyPem,
    certDer: bytesOf(certificate.raw),
    keyDer: bytesOf(keyDer),
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
  };
}

/** Reads what verifies the SVIDs of the organization. */
export async function readTrust(server: Server, orgUuid: string): Promise<Trust> {
  const [{ trustDomain, x509Authorities }, bundle, { data }] = await Promise.all([
    server.spiffe.getTrustBundle({}),
    server.spiffe.getSpiffeBundle({ orgUuid }),
    server.spiffe.getRevocationList({ orgUuid, issuer: "spiffe" }),
  ]);
  return {
    trustDomain: `spiffe://${trustDomain}`,
    roots: bytesOf(Buffer.concat(x509Authorities.map(({ asn1 }) => asn1))),
    crl: bytesOf(data),
    jwks: jwksOf(bundle),
  };
}

function jwksOf({ keys }: SpiffeBundle): string {
  const signing = keys.filter(({ use }) => use === "jwt-svid");
  return JSON.stringify({
    keys: signing.map(({ use, kty, crv, x, y, kid, alg }) => ({ use, kty, crv, x, y, kid, alg })),
  });
}

/** Whether two bundles verify the same SVIDs. */
export function isSameTrust(one: Trust, other: Trust): boolean {
  return (
    one.trustDomain === other.trustDomain &&
    one.jwks === other.jwks &&
    Buffer.compare(one.roots, other.roots) === 0 &&
    Buffer.compare(one.crl, other.crl) === 0
  );
}
