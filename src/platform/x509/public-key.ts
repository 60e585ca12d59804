import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { DerError, DerReader, TAGS } from "./der.ts";

/** Kinds of keys that certificates are issued for. */
export type KeyKind = "rsa" | "p256" | "p384" | "ed25519";

/** AlgorithmIdentifier of each kind (RFC 3279 §2.3.1, RFC 5480 §2.1.1, RFC 8410 §3), DER in hexadecimal. */
const KINDS: Readonly<Record<string, KeyKind>> = {
  "300d06092a864886f70d0101010500": "rsa",
  "301306072a8648ce3d020106082a8648ce3d030107": "p256",
  "301006072a8648ce3d020106052b81040022": "p384",
  "300506032b6570": "ed25519",
};
/** Bits of RSA keys; above the maximum, one verification takes too long. */
const RSA_BITS = { min: 2_048, max: 8_192 } as const;
const MAX_EXPONENT_BYTES = 4;

/** A public key that certificates are issued for. */
export interface LeafPublicKey {
  kind: KeyKind;
  key: KeyObject;
}

/**
 * Reads a SubjectPublicKeyInfo. The kind is known before OpenSSL sees it, so that it never evaluates curve parameters
 * of the sender.
 * @throws {DerError} when it is malformed, or of another kind than {@link KeyKind}
 */
export function readPublicKey(der: Buffer): LeafPublicKey {
  const fields = new DerReader(new DerReader(der).next(TAGS.sequence).contents);
  const kind = KINDS[fields.next(TAGS.sequence).whole.toString("hex")];
  if (kind === undefined) throw new DerError("the key is neither RSA nor P-256, P-384 or Ed25519");
  const bits = fields.next(TAGS.bitString).contents;
  fields.end();
  if (kind === "rsa") checkRsa(bits.subarray(1));
  try {
    return { kind, key: createPublicKey({ key: der, format: "der", type: "spki" }) };
  } catch (cause) {
    throw new DerError("the key is not valid", { cause });
  }
}

function checkRsa(der: Buffer): void {
  const outer = new DerReader(der);
  const fields = new DerReader(outer.next(TAGS.sequence).contents);
  const modulus = fields.next(TAGS.integer).contents;
  const exponent = fields.next(TAGS.integer).contents;
  fields.end();
  outer.end();
  const first = modulus.findIndex((byte) => byte !== 0);
  const bits = first < 0 ? 0 : (modulus.length - first) * 8 - Math.clz32(modulus[first] ?? 0) + 24;
  if (bits < RSA_BITS.min || bits > RSA_BITS.max || (modulus[0] as number) >= 0x80)
    throw new DerError(`an RSA key must have ${RSA_BITS.min} to ${RSA_BITS.max} bits`);
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1;
  if (!isOdd || exponent.length > MAX_EXPONENT_BYTES || (exponent.length === 1 && (exponent[0] ?? 0) < 3))
    throw new DerError("the exponent of the RSA key is not accepted");
}
