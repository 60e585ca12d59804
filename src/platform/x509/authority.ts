import type { Random } from "../random.ts";
import { exportPrivateKey, generateAuthorityKeys, importAuthorityKey } from "./keys.ts";
import type { AuthorityAlgorithm, Key } from "./keys.ts";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "./library.ts";
import type { Extension, JsonName, Name } from "./library.ts";
import { newSerial } from "./serial.ts";

/** Signs certificates and revocation lists. */
export interface Authority {
  readonly name: Name;
  readonly notAfter: Date;
  readonly algorithm: AuthorityAlgorithm;
  readonly key: Key;
  /** The extension by which what it signs names its key. */
  readonly keyIdentifier: AuthorityKeyIdentifierExtension;
}

/** A self-signed certificate to make. */
export interface RootRequest {
  name: JsonName | Name;
  notBefore: Date;
  notAfter: Date;
  /** URI in the subject alternative name. */
  uri?: string;
  /** Default: `ecdsa-p256`. */
  algorithm?: AuthorityAlgorithm;
}

/** A new root certificate with its key. */
export interface NewRoot {
  /** DER. */
  certificate: Buffer;
  /** PKCS #8, DER. Secret: clear it with `fill(0)` after use. */
  privateKey: Buffer;
  /** Subject key identifier: SHA-1 of the public key (RFC 5280 §4.2.1.2). */
  keyId: Buffer;
}

/** How a P-256 key signs certificates and lists. */
export const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;

/** How each kind of authority signs certificates and lists. */
export const SIGNATURES = {
  "ecdsa-p256": SIGNATURE,
  rsa4096: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
} as const satisfies Record<AuthorityAlgorithm, object>;

/** Creates a root that signs end-entity certificates only. */
export async function createRoot(random: Pick<Random, "bytes">, request: RootRequest): Promise<NewRoot> {
  const algorithm = request.algorithm ?? "ecdsa-p256";
  const keys = await generateAuthorityKeys(algorithm);
  const keyIdentifier = await SubjectKeyIdentifierExtension.create(keys.publicKey);
  const extensions: Extension[] = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ...(request.uri === undefined
      ? []
      : [new SubjectAlternativeNameExtension([{ type: "url" as const, value: request.uri }])]),
    keyIdentifier,
  ];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(random),
    name: request.name,
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    keys,
    extensions,
    signingAlgorithm: SIGNATURES[algorithm],
  });
  return {
    certificate: Buffer.from(certificate.rawData),
    privateKey: await exportPrivateKey(keys.privateKey),
    keyId: Buffer.from(keyIdentifier.keyId, "hex"),
  };
}

/** An authority from its stored certificate and private key, both DER. */
export async function openAuthority(
  certificate: Buffer,
  privateKey: Buffer,
  algorithm: AuthorityAlgorithm = "ecdsa-p256",
): Promise<Authority> {
  const parsed = new X509Certificate(new Uint8Array(certificate));
  const subject = parsed.getExtension(SubjectKeyIdentifierExtension);
  if (subject === null) throw new TypeError("the certificate of an authority has no subject key identifier");
  return {
    name: parsed.subjectName,
    notAfter: parsed.notAfter,
    algorithm,
    key: await importAuthorityKey(algorithm, privateKey),
    keyIdentifier: new AuthorityKeyIdentifierExtension(subject.keyId),
  };
}
