import { randomBytes } from "node:crypto";
import type { webcrypto } from "node:crypto";
import { createSealer } from "../../src/platform/crypto/sealed.ts";
import { importP256 } from "../../src/platform/x509/keys.ts";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "../../src/platform/x509/library.ts";
import type { Extension } from "../../src/platform/x509/library.ts";
import { runSql } from "./postgres.ts";

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** What signs certificates: a root of the service whose stored key a test opens, or one of the test's own. */
export interface Signer {
  certificate: X509Certificate;
  key: webcrypto.CryptoKey;
}

/** A service whose stored keys can be opened. */
export interface Opened {
  databaseUrl: string;
  instanceKey: Buffer;
}

/** The SPIFFE root of an organization, with its key. */
export async function rootOf({ databaseUrl, instanceKey }: Opened, org: string): Promise<Signer> {
  const [row] = await runSql<{ certificate: Buffer; private_key: Buffer }>(
    databaseUrl,
    "select certificate, private_key from spiffe_roots where org_uuid = $1",
    [org],
  );
  if (row === undefined) throw new Error("the organization has no root");
  const key = await importP256(createSealer(instanceKey).open(row.private_key, `spiffe-root:${org}`));
  return { certificate: new X509Certificate(new Uint8Array(row.certificate)), key };
}

/** What makes a certificate differ from a proper SVID. */
export interface LeafOptions {
  uris?: string[];
  serial?: string;
  notBefore?: Date;
  notAfter?: Date;
  commonName?: string;
  /** Replaces basic constraints, key usage and extended key usage. */
  purposes?: Extension[];
  /** Added to the others. */
  more?: Extension[];
  /** Replaces the signer's key identifier, hexadecimal. */
  issuerKeyId?: string;
  algorithm?: webcrypto.EcKeyGenParams & webcrypto.EcdsaParams;
}

/** A leaf with its key. */
export interface Leaf {
  cert: string;
  key: string;
  serial: string;
  der: Buffer;
}

/** Extensions of a proper SVID that say what it is for. */
const svidPurposes = (): Extension[] => [
  new BasicConstraintsExtension(false, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
];

/** Issues a leaf; without a signer it is self-signed. */
export async function issue(nowMs: number, signer: Signer | undefined, options: LeafOptions = {}): Promise<Leaf> {
  const { algorithm = ECDSA, uris = [], serial = `4a${randomBytes(15).toString("hex")}` } = options;
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const subjectKey = options.issuerKeyId ?? signer?.certificate.getExtension(SubjectKeyIdentifierExtension)?.keyId;
  const subject = options.commonName === undefined ? "O=Atrium" : `CN=${options.commonName}`;
  const request = {
    serialNumber: serial,
    notBefore: options.notBefore ?? new Date(nowMs - 60_000),
    notAfter: options.notAfter ?? new Date(nowMs + 3_600_000),
    signingAlgorithm: ECDSA,
    extensions: [
      ...(options.purposes ?? svidPurposes()),
      ...(uris.length === 0
        ? []
        : [new SubjectAlternativeNameExtension(uris.map((value) => ({ type: "url", value })))]),
      ...(subjectKey === undefined ? [] : [new AuthorityKeyIdentifierExtension(subjectKey)]),
      ...(options.more ?? []),
    ],
  };
  const certificate =
    signer === undefined
      ? await X509CertificateGenerator.createSelfSigned({ ...request, name: subject, keys })
      : await X509CertificateGenerator.create({
          ...request,
          subject,
          issuer: signer.certificate.subjectName,
          publicKey: keys.publicKey,
          signingKey: signer.key,
        });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
    serial,
    der: Buffer.from(certificate.rawData),
  };
}

/** A root of the test's own, under which the service trusts nothing. */
export async function foreignRoot(nowMs: number): Promise<Signer> {
  const keys = await crypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(15).toString("hex"),
    name: "CN=Foreign root",
    notBefore: new Date(nowMs - 60_000),
    notAfter: new Date(nowMs + 86_400_000),
    keys,
    signingAlgorithm: ECDSA,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, key: keys.privateKey };
}
