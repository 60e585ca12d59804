// Node 24 leaves `node:tls` half loaded, for every file of the worker, where `toLegacyObject` is the first to need it.
import "node:tls";
import { generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { systemRandom } from "../../src/platform/random.ts";
import { createRoot, openAuthority, SIGNATURES } from "../../src/platform/x509/authority.ts";
import { DerReader, TAGS } from "../../src/platform/x509/der.ts";
import type { AuthorityAlgorithm } from "../../src/platform/x509/keys.ts";
import { issueLeaf } from "../../src/platform/x509/leaf.ts";
import type { LeafRequest } from "../../src/platform/x509/leaf.ts";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  CRLDistributionPointsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "../../src/platform/x509/library.ts";
import { commonNameOnly } from "../../src/platform/x509/names.ts";
import { newSerial } from "../../src/platform/x509/serial.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 27, 12);

const KEYS: Readonly<Record<string, () => { publicKey: KeyObject }>> = {
  "P-256": () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  "P-384": () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  Ed25519: () => generateKeyPairSync("ed25519"),
  "RSA-2048": () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
};

const NAMES: Readonly<Record<string, LeafRequest["names"]>> = {
  "no names": [],
  "DNS names": [
    { type: "dns", value: "client.example" },
    { type: "dns", value: "*.example.com" },
  ],
  addresses: [
    { type: "ip", value: "10.0.0.7" },
    { type: "ip", value: "2001:db8::7" },
  ],
  "a SPIFFE id": [{ type: "url", value: "spiffe://0f2f.atrium/identity/1" }],
};

/** The part of a certificate that is signed, hexadecimal. */
const signedPartOf = (certificate: Buffer): string =>
  new DerReader(new DerReader(certificate).next(TAGS.sequence).contents).next(TAGS.sequence).whole.toString("hex");

const cases = (["ecdsa-p256", "rsa4096"] as const).flatMap((authority) =>
  Object.keys(KEYS).flatMap((key) => Object.keys(NAMES).map((names) => [authority, key, names] as const)),
);
const authorities = new Map<AuthorityAlgorithm, Awaited<ReturnType<typeof newAuthority>>>();

async function newAuthority(algorithm: AuthorityAlgorithm) {
  const name = { name: commonNameOnly("Müller & Söhne"), notBefore: new Date(NOW), notAfter: new Date(NOW + DAY_MS) };
  const root = await createRoot(systemRandom, { ...name, algorithm });
  return { authority: await openAuthority(root.certificate, root.privateKey, algorithm), keyId: root.keyId };
}

test.each(cases)(
  "what an authority of the kind %s signs of a leaf with a key of the kind %s and %s is what the library generates",
  async (algorithm, key, kind) => {
    const { authority, keyId } = authorities.get(algorithm) ?? (await newAuthority(algorithm));
    authorities.set(algorithm, { authority, keyId });
    const publicKey = KEYS[key]?.().publicKey.export({ type: "spki", format: "der" }) ?? Buffer.alloc(0);
    const request: LeafRequest = {
      serial: newSerial(systemRandom),
      subject: commonNameOnly("client, of Zürich"),
      names: NAMES[kind] ?? [],
      notBefore: new Date(NOW),
      // From 2050 on, times have another form.
      notAfter: new Date(kind === "addresses" ? Date.UTC(2051, 0, 1) : NOW + DAY_MS),
      usages: kind === "DNS names" ? ["client", "server"] : ["client"],
      publicKey,
      crlUrl: "http://localhost:8080/crl",
    };
    const usages = request.usages.map((usage) =>
      usage === "client" ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth,
    );
    const spki = new PublicKey(new Uint8Array(publicKey));
    const generated = await X509CertificateGenerator.create({
      serialNumber: request.serial,
      subject: commonNameOnly("client, of Zürich"),
      issuer: authority.name,
      notBefore: request.notBefore,
      notAfter: request.notAfter,
      publicKey: spki,
      signingKey: authority.key,
      signingAlgorithm: SIGNATURES[algorithm],
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(usages),
        ...(request.names.length === 0 ? [] : [new SubjectAlternativeNameExtension(request.names)]),
        await SubjectKeyIdentifierExtension.create(spki),
        new AuthorityKeyIdentifierExtension(keyId.toString("hex")),
        new CRLDistributionPointsExtension([request.crlUrl]),
      ],
    });
    expect(signedPartOf(await issueLeaf(authority, request))).toBe(signedPartOf(Buffer.from(generated.rawData)));
  },
);
