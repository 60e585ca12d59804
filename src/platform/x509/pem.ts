/** PEM text of DER (RFC 7468), its last line ended as the others. */
export function toPem(der: Buffer, label: "CERTIFICATE" | "PRIVATE KEY" | "X509 CRL"): string {
  const lines = der.toString("base64").match(/.{1,64}/gu) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
