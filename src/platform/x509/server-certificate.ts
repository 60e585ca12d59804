import { isIP } from "node:net";
import type { Random } from "../random.ts";
import { SIGNATURE } from "./authority.ts";
import { exportPrivateKey, generateP256 } from "./keys.ts";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "./library.ts";
import { ipName } from "./names.ts";
import { newSerial } from "./serial.ts";

/** A certificate of a TLS server with its key. */
export interface NewServerCertificate {
  /** DER. */
  certificate: Buffer;
  /** PKCS #8, DER. Secret: clear it with `fill(0)` after use. */
  privateKey: Buffer;
}

/** Creates a self-signed certificate of a TLS server, which clients trust by itself. */
export async function createServerCertificate(
  random: Pick<Random, "bytes">,
  { hosts, notBefore, notAfter }: { hosts: readonly string[]; notBefore: Date; notAfter: Date },
): Promise<NewServerCertificate> {
  const keys = await generateP256();
  const keyIdentifier = await SubjectKeyIdentifierExtension.create(keys.publicKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(random),
    name: [{ O: ["Atrium"] }, { CN: ["Atrium mutual TLS"] }],
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        hosts.map((value) => (isIP(value) === 0 ? { type: "dns" as const, value } : ipName(value))),
      ),
      keyIdentifier,
      new AuthorityKeyIdentifierExtension(keyIdentifier.keyId),
    ],
  });
  return { certificate: Buffer.from(certificate.rawData), privateKey: await exportPrivateKey(keys.privateKey) };
}
