/** Bytes in one line of PEM: 64 characters. */
const LINE_BYTES = 48;

/** PEM text of DER (RFC 7468), its last line ended as the others. */
export function toPem(der: Buffer, label: "CERTIFICATE" | "PRIVATE KEY" | "X509 CRL"): string {
  const lines: string[] = [];
  for (let at = 0; at < der.length; at += LINE_BYTES) lines.push(der.toString("base64", at, at + LINE_BYTES));
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
