import { X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { SvidName } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { createLru } from "../../platform/lru.ts";
import { DerError } from "../../platform/x509/der.ts";
import { readEndEntity } from "../../platform/x509/end-entity.ts";
import type { EndEntity } from "../../platform/x509/end-entity.ts";
import { rootByKeyId } from "./root-store.ts";
import type { TrustDomains } from "./trust-domain.ts";

/** Dependencies of {@link createClientCertificates}. */
export interface ClientCertificatesDeps {
  database: Pick<Database, "identifying">;
  clock: Clock;
  trustDomains: TrustDomains;
}

/**
 * How far ahead the clock of the instance that issued a certificate may be: SVIDs begin when they are issued, and are
 * presented to other instances at once.
 */
const MAX_SKEW_MS = 10_000;

/** A root as the certificates it has issued are checked. */
interface Issuer {
  /** DER of the whole certificate. */
  readonly certificate: Buffer;
  /** DER of its name. */
  readonly name: Buffer;
  readonly publicKey: KeyObject;
  readonly notAfterMs: number;
}

/** Number of roots whose keys are kept ready, about four kilobytes each. */
const CACHED_ISSUERS = 1_000;

/** Verifies the certificates that clients of mutual TLS present. */
export function createClientCertificates({ database, clock, trustDomains }: ClientCertificatesDeps) {
  // The row is read for every certificate; only what was computed from its bytes is kept.
  const issuers = createLru<Issuer>(CACHED_ISSUERS);

  function issuerOf(orgUuid: string, certificate: Buffer): Issuer {
    const known = issuers.get(orgUuid);
    if (known?.certificate.equals(certificate) === true) return known;
    const { issuer: name, notAfterMs } = readEndEntity(certificate);
    const issuer = { certificate, name, publicKey: new X509Certificate(certificate).publicKey, notAfterMs };
    issuers.set(orgUuid, issuer);
    return issuer;
  }

  return {
    /**
     * The SVID that a certificate is, found by the root that it names as its issuer: signature, validity, purpose and
     * SPIFFE id are right. Its record says whether it is still valid.
     * @throws {unauthorized} for every other certificate
     */
    async verify(certificate: X509Certificate): Promise<SvidName> {
      const fields = read(certificate.raw);
      const { issuerKeyId, uris, serial } = fields;
      const root = issuerKeyId === undefined ? undefined : await rootByKeyId(database, issuerKeyId);
      if (root === undefined) throw refused("no organization's SPIFFE root issued it");
      const issuer = issuerOf(root.orgUuid, root.certificate);
      if (!fields.issuer.equals(issuer.name) || !isSignedBy(certificate, issuer.publicKey))
        throw refused("its signature is not its issuer's");
      const fault = faultOf(fields, clock.now()) ?? (issuer.notAfterMs < clock.now() ? "its issuer has expired" : null);
      if (fault !== null) throw refused(fault);
      const [spiffeId = ""] = uris;
      if (!spiffeId.startsWith(`${trustDomains.idOf(root.orgUuid)}/`))
        throw refused("its SPIFFE id is outside its issuer's trust domain");
      return { orgUuid: root.orgUuid, serial, spiffeId };
    },
  };
}

function read(der: Buffer): EndEntity {
  try {
    return readEndEntity(der);
  } catch (reason) {
    if (reason instanceof DerError) throw refused(reason.message);
    throw reason;
  }
}

function isSignedBy(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.verify(key);
  } catch {
    return false; // an algorithm that does not fit the key
  }
}

/** What refuses a certificate whose signature is right (RFC 5280 §6.1, SPIFFE X.509-SVID §5); null: nothing. */
function faultOf(fields: EndEntity, nowMs: number): string | null {
  if (nowMs < fields.notBeforeMs - MAX_SKEW_MS) return "it is not valid yet";
  if (nowMs > fields.notAfterMs) return "it has expired";
  if (fields.unknownCritical.length > 0) return "it has an unknown critical extension";
  if (fields.isAuthority) return "it is a certificate authority's";
  if (!fields.signs || !fields.authenticatesClients) return "it is not for clients of TLS";
  return fields.uris.length === 1 ? null : "it does not have exactly one URI as subject alternative name";
}

function refused(why: string): ServiceError {
  return errors.unauthorized({ message: `The client certificate is refused: ${why}.` });
}
