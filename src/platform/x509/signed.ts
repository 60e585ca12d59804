import type { Authority } from "./authority.ts";
import { SIGNATURES } from "./authority.ts";
import { BIT_STRING, integer, SEQUENCE, tlv } from "./der-writer.ts";
import type { AuthorityAlgorithm } from "./keys.ts";

/** Signature algorithms as X.509 has them (RFC 5758 §3.2, RFC 4055 §5); DER. */
export const ALGORITHM_IDENTIFIERS: Readonly<Record<AuthorityAlgorithm, Buffer>> = {
  "ecdsa-p256": Buffer.from("300a06082a8648ce3d040302", "hex"),
  rsa4096: Buffer.from("300d06092a864886f70d01010b0500", "hex"),
};

/** A certificate or revocation list: what is signed, how, and the signature (RFC 5280 §4.1, §5.1); DER. */
export async function signed(authority: Authority, toSign: Buffer): Promise<Buffer> {
  const raw = Buffer.from(await crypto.subtle.sign(SIGNATURES[authority.algorithm], authority.key, bytesOf(toSign)));
  const value = authority.algorithm === "ecdsa-p256" ? derSignature(raw) : raw;
  return tlv(SEQUENCE, toSign, ALGORITHM_IDENTIFIERS[authority.algorithm], tlv(BIT_STRING, Buffer.of(0), value));
}

/** An ECDSA signature as X.509 has it; Web Crypto returns the two numbers side by side. */
function derSignature(raw: Buffer): Buffer {
  const half = raw.length / 2;
  return tlv(SEQUENCE, integer(raw.subarray(0, half).toString("hex")), integer(raw.subarray(half).toString("hex")));
}

/** The same bytes with the type that Web Crypto takes; it copies them itself. */
function bytesOf(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return buffer as Uint8Array<ArrayBuffer>;
}
