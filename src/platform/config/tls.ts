import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Reader } from "./reader.ts";
import type { Config } from "./types.ts";

/** A certificate; without the last line where its text was cut off. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----)?/gu;

/** What OpenSSL refuses; undefined where it accepts. Its text repeats nothing of a key. */
function faultOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    const { reason, message } = error as Error & { reason?: string };
    return reason ?? message;
  }
}

/** Reports a certificate and a private key that cannot be read or do not belong together. */
function checkPair(read: Reader, names: readonly [string, string], cert: string, key: string): void {
  const fault = faultOf(() => createSecureContext({ cert, key }));
  if (fault !== undefined) read.problem(`${names.join(" and ")} are not a certificate and its private key (${fault})`);
}

/** Reports trusted certificates of which one cannot be read: a TLS context leaves those out without an error. */
function checkAuthorities(read: Reader, name: string, pem: string): void {
  const certificates = pem.match(CERTIFICATE) ?? [];
  const fault = faultOf(() => certificates.map((one) => new X509Certificate(one)));
  if (certificates.length === 0) read.problem(`${name} has no certificate`);
  else if (fault !== undefined) read.problem(`${name} has a certificate that cannot be read (${fault})`);
}

/** The service's own certificate and key. */
export function readTls(read: Reader): Config["tls"] {
  const names = ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"] as const;
  read.allOrNone(...names);
  const [cert, key] = [read.pem(names[0]), read.pem(names[1])];
  if (cert === undefined || key === undefined) return undefined;
  checkPair(read, names, cert, key);
  return { cert, key };
}

/** Uses the names of Temporal's own tools: `_PATH` is the path of a PEM file, `_DATA` its text. */
export function readTemporalTls(read: Reader): Config["temporal"]["tls"] {
  const pem = (name: string): string | undefined => read.pem(`${name}_PATH`) ?? read.pem(`${name}_DATA`);
  const variableOf = (name: string): string =>
    read.text(`${name}_PATH`) === undefined ? `${name}_DATA` : `${name}_PATH`;
  const isSet = (name: string): boolean => read.text(variableOf(name)) !== undefined;
  const ca = pem("TEMPORAL_TLS_SERVER_CA_CERT");
  const cert = pem("TEMPORAL_TLS_CLIENT_CERT");
  const key = pem("TEMPORAL_TLS_CLIENT_KEY");
  const serverName = read.text("TEMPORAL_TLS_SERVER_NAME");
  const on = read.flag("TEMPORAL_TLS", undefined);
  if (ca !== undefined) checkAuthorities(read, variableOf("TEMPORAL_TLS_SERVER_CA_CERT"), ca);
  if (isSet("TEMPORAL_TLS_CLIENT_CERT") !== isSet("TEMPORAL_TLS_CLIENT_KEY"))
    read.problem("TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong together");
  if (cert !== undefined && key !== undefined)
    checkPair(read, [variableOf("TEMPORAL_TLS_CLIENT_CERT"), variableOf("TEMPORAL_TLS_CLIENT_KEY")], cert, key);
  const details = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { serverName }),
  };
  if (on === false || Object.keys(details).length === 0) return on;
  return details;
}
