import type { webcrypto } from "node:crypto";

/** A key of Web Crypto. */
export type Key = webcrypto.CryptoKey;

/** Keys on the curve P-256 (FIPS 186-5), for ECDSA. */
const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Generates a P-256 key pair off the event loop. */
export function generateP256(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(P256, true, ["sign", "verify"]);
}

/** The private key as PKCS #8, DER. Secret: clear it with `fill(0)` after use. */
export async function exportPrivateKey(key: Key): Promise<Buffer> {
  return Buffer.from(await crypto.subtle.exportKey("pkcs8", key));
}

/** A private P-256 key from PKCS #8, DER; it signs and cannot be exported. */
export function importP256(der: Buffer): Promise<Key> {
  return crypto.subtle.importKey("pkcs8", new Uint8Array(der), P256, false, ["sign"]);
}
