import { hash } from "node:crypto";

/** SHA-256 of a certificate's DER, lower-case hexadecimal without separators. */
export function fingerprint(certificate: Buffer): string {
  return hash("sha256", certificate, "hex");
}
