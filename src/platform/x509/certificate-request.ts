import { verify } from "node:crypto";
import { promisify } from "node:util";
import { contextTag, DerError, DerReader, TAGS } from "./der.ts";
import { readPublicKey } from "./public-key.ts";
import type { KeyKind } from "./public-key.ts";

/** What a certificate request is used for: its key, whose possession it proves. */
export interface CertificateRequest {
  kind: KeyKind;
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Buffer;
}

/** Maximum length of a request, bytes. */
const MAX_BYTES = 16_384;
const LABEL = "(?:NEW )?CERTIFICATE REQUEST";
/** One request (RFC 7468 §7). The lines around it are explanatory. */
const PEM = new RegExp(`-----BEGIN ${LABEL}-----([A-Za-z0-9+/=\\s]*)-----END ${LABEL}-----`, "u");

/** Digest and kinds of key by AlgorithmIdentifier, DER in hexadecimal (RFC 4055 §5, RFC 5758 §3.2, RFC 8410 §3). */
const SIGNATURES: Readonly<Record<string, { digest: string | null; kinds: readonly KeyKind[] }>> = {
  "300d06092a864886f70d01010b0500": { digest: "sha256", kinds: ["rsa"] },
  "300d06092a864886f70d01010c0500": { digest: "sha384", kinds: ["rsa"] },
  "300d06092a864886f70d01010d0500": { digest: "sha512", kinds: ["rsa"] },
  "300a06082a8648ce3d040302": { digest: "sha256", kinds: ["p256", "p384"] },
  "300a06082a8648ce3d040303": { digest: "sha384", kinds: ["p256", "p384"] },
  "300a06082a8648ce3d040304": { digest: "sha512", kinds: ["p256", "p384"] },
  "300506032b6570": { digest: null, kinds: ["ed25519"] },
};

const verifySignature = promisify(
  (digest: string | null, data: Buffer, key: Parameters<typeof verify>[2], signature: Buffer, done: Done) =>
    verify(digest, data, key, signature, done),
);
type Done = (error: Error | null, valid: boolean) => void;

/**
 * Reads a PKCS #10 request (RFC 2986) and verifies its signature off the event loop. Subject and attributes have no
 * effect.
 * @throws {DerError} when it is malformed, has a key or signature of a kind that is not accepted, or does not verify
 */
export async function readCertificateRequest(request: string | Buffer): Promise<CertificateRequest> {
  if (request.length > 4 * MAX_BYTES) throw new DerError("the request is too long");
  const der = typeof request === "string" ? fromPem(request) : request;
  if (der.length > MAX_BYTES) throw new DerError(`a certificate request has at most ${MAX_BYTES} bytes`);
  const outer = new DerReader(der);
  const fields = new DerReader(outer.next(TAGS.sequence).contents);
  outer.end();
  const signed = fields.next(TAGS.sequence);
  const algorithm = SIGNATURES[fields.next(TAGS.sequence).whole.toString("hex")];
  const signature = fields.next(TAGS.bitString).contents;
  fields.end();
  const publicKey = readInfo(signed.contents);
  const { kind, key } = readPublicKey(publicKey);
  if (algorithm === undefined || !algorithm.kinds.includes(kind))
    throw new DerError("the request is signed by an algorithm that is not accepted, or not by its key");
  if (signature[0] !== 0) throw new DerError("the signature is malformed");
  const isValid = await verifySignature(algorithm.digest, signed.whole, key, signature.subarray(1)).catch(() => false);
  if (!isValid) throw new DerError("the signature of the request does not verify");
  return { kind, publicKey };
}

/** Returns the key of a CertificationRequestInfo. */
function readInfo(contents: Buffer): Buffer {
  const info = new DerReader(contents);
  const version = info.next(TAGS.integer).contents;
  if (version.length !== 1 || version[0] !== 0) throw new DerError("the request has no version 1");
  info.next(TAGS.sequence); // subject
  const publicKey = info.next(TAGS.sequence).whole;
  // Some programs leave it out where it is empty.
  info.optional(contextTag(0, true));
  info.end();
  return publicKey;
}

function fromPem(text: string): Buffer {
  const base64 = text.split("-----BEGIN ").length === 2 ? PEM.exec(text)?.[1]?.replaceAll(/\s/gu, "") : undefined;
  if (base64 === undefined) throw new DerError("the text does not have exactly one certificate request");
  const der = Buffer.from(base64, "base64");
  if (der.toString("base64") !== base64) throw new DerError("the request is not valid base64");
  return der;
}
