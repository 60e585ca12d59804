// The library's dependency injection needs this first.
import "reflect-metadata";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";

/** A key of this browser and the request that names it. */
export interface KeyAndRequest {
  /** PKCS#8, PEM. It is sent to nobody. */
  privateKey: string;
  /** PKCS#10, PEM. */
  csr: string;
}

/** Makes a P-256 key and a request for it. The service takes nothing but the key from the request. */
export async function requestCertificate(commonName: string): Promise<KeyAndRequest> {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name: [{ CN: [commonName] }], keys, signingAlgorithm: { name: "ECDSA", hash: "SHA-256" } },
    crypto,
  );
  return {
    csr: request.toString("pem"),
    privateKey: pemOf("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", keys.privateKey)),
  };
}

function pemOf(label: string, der: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(der)));
  return `-----BEGIN ${label}-----\n${text.replaceAll(/.{64}/gu, "$&\n").trimEnd()}\n-----END ${label}-----\n`;
}
