import { generateKeyPair } from "node:crypto";
import type { webcrypto } from "node:crypto";
import { promisify } from "node:util";
import { generateRsaInTurn } from "../crypto/rsa-queue.ts";

/** A key of Web Crypto. */
export type Key = webcrypto.CryptoKey;
/** A key pair of Web Crypto. */
export type KeyPair = webcrypto.CryptoKeyPair;

/** Keys of authorities: RSA with 4,096 bits, or ECDSA on the curve P-256 (FIPS 186-5). */
export type AuthorityAlgorithm = "rsa4096" | "ecdsa-p256";

/** Keys on the curve P-256 (FIPS 186-5), for ECDSA. */
const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;
/** RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2). */
const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;
const RSA_4096 = { ...RSA, modulusLength: 4_096, publicExponent: new Uint8Array([1, 0, 1]) } as const;

const generate = promisify(generateKeyPair);

/** Generates a P-256 key pair off the event loop. */
export function generateP256(): Promise<KeyPair> {
  return crypto.subtle.generateKey(P256, true, ["sign", "verify"]);
}

/** Generates a key pair of an authority off the event loop; RSA keys one at a time. */
export function generateAuthorityKeys(algorithm: AuthorityAlgorithm): Promise<KeyPair> {
  if (algorithm === "ecdsa-p256") return generateP256();
  return generateRsaInTurn(() => crypto.subtle.generateKey(RSA_4096, true, ["sign", "verify"]));
}

/** A P-256 key pair for a certificate's holder. */
export interface LeafKeys {
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Buffer;
  /** PKCS #8, DER. Secret. */
  privateKey: Buffer;
}

/** Generates a P-256 key pair as DER off the event loop; in one step, where Web Crypto takes three. */
export function generateLeafKeys(): Promise<LeafKeys> {
  return generate("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "der" },
  });
}

/** The private key as PKCS #8, DER. Secret: clear it with `fill(0)` after use. */
export async function exportPrivateKey(key: Key): Promise<Buffer> {
  return Buffer.from(await crypto.subtle.exportKey("pkcs8", key));
}

/** A private P-256 key from PKCS #8, DER; it signs and cannot be exported. */
export function importP256(der: Buffer): Promise<Key> {
  return importPrivateKey(der, P256);
}

/** The private key of an authority from PKCS #8, DER; it signs and cannot be exported. */
export function importAuthorityKey(algorithm: AuthorityAlgorithm, der: Buffer): Promise<Key> {
  if (algorithm === "ecdsa-p256") return importP256(der);
  return importPrivateKey(der, RSA);
}

async function importPrivateKey(der: Buffer, algorithm: typeof P256 | typeof RSA): Promise<Key> {
  // Its type accepts no buffer whose memory may be shared.
  const copy = new Uint8Array(der);
  try {
    return await crypto.subtle.importKey("pkcs8", copy, algorithm, false, ["sign"]);
  } finally {
    copy.fill(0);
  }
}
