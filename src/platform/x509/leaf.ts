import { AsnConvert } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  Extension as AsnExtension,
  Extensions,
  Name as AsnName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";
import { hash } from "node:crypto";
import type { Authority } from "./authority.ts";
import { DerReader, TAGS } from "./der.ts";
import {
  BasicConstraintsExtension,
  CRLDistributionPointsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
} from "./library.ts";
import type { Extension, JsonGeneralNames, JsonName } from "./library.ts";
import { ALGORITHM_IDENTIFIERS, signed } from "./signed.ts";

/** An end-entity certificate to make. */
export interface LeafRequest {
  /** Lower-case hexadecimal. */
  serial: string;
  subject: JsonName | Name;
  /** Subject alternative names; may be empty. */
  names: JsonGeneralNames;
  notBefore: Date;
  notAfter: Date;
  usages: readonly ("client" | "server")[];
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Buffer;
  /** Where the issuer publishes its revocation list. */
  crlUrl: string;
}

const NOT_AN_AUTHORITY = decoded(new BasicConstraintsExtension(false, undefined, true));
const SIGNS = decoded(new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true));
const USAGES = { client: ExtendedKeyUsage.clientAuth, server: ExtendedKeyUsage.serverAuth } as const;
/** Extensions that leaves share: making one takes the library 0.1 ms. */
const usageExtensions = new Map<string, AsnExtension>();
/** What the leaves of an authority share. */
interface Issuer {
  name: AsnName;
  keyIdentifier: AsnExtension;
  signature: AlgorithmIdentifier;
  crl?: { url: string; extension: AsnExtension };
}
const issuers = new WeakMap<Authority, Issuer>();

/**
 * Issues an end-entity certificate; DER. The library's generator would decode what leaves share for each of them, and
 * the finished certificate once more: that takes three times as long as all this.
 */
export async function issueLeaf(authority: Authority, request: LeafRequest): Promise<Buffer> {
  const issuer = issuerOf(authority);
  const subject = request.subject instanceof Name ? request.subject : new Name(request.subject);
  const certificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumberOf(request.serial),
    signature: issuer.signature,
    issuer: issuer.name,
    validity: new Validity(request),
    subject: AsnConvert.parse(subject.toArrayBuffer(), AsnName),
    subjectPublicKeyInfo: AsnConvert.parse(request.publicKey, SubjectPublicKeyInfo),
    extensions: new Extensions([
      NOT_AN_AUTHORITY,
      SIGNS,
      extendedKeyUsage(request.usages),
      ...(request.names.length === 0 ? [] : [decoded(new SubjectAlternativeNameExtension(request.names))]),
      decoded(new SubjectKeyIdentifierExtension(keyIdOf(request.publicKey))),
      issuer.keyIdentifier,
      crlDistributionPoint(issuer, request.crlUrl),
    ]),
  });
  return signed(authority, Buffer.from(AsnConvert.serialize(certificate)));
}

/** An extension of the library as certificates are made of it. */
function decoded({ rawData }: Extension): AsnExtension {
  return AsnConvert.parse(rawData, AsnExtension);
}

function issuerOf(authority: Authority): Issuer {
  let issuer = issuers.get(authority);
  if (issuer === undefined) {
    issuer = {
      name: AsnConvert.parse(authority.name.toArrayBuffer(), AsnName),
      keyIdentifier: decoded(authority.keyIdentifier),
      signature: AsnConvert.parse(ALGORITHM_IDENTIFIERS[authority.algorithm], AlgorithmIdentifier),
    };
    issuers.set(authority, issuer);
  }
  return issuer;
}

function extendedKeyUsage(usages: LeafRequest["usages"]): AsnExtension {
  const key = usages.join();
  let extension = usageExtensions.get(key);
  if (extension === undefined)
    usageExtensions.set(
      key,
      (extension = decoded(new ExtendedKeyUsageExtension(usages.map((usage) => USAGES[usage])))),
    );
  return extension;
}

function crlDistributionPoint(issuer: Issuer, url: string): AsnExtension {
  if (issuer.crl?.url !== url) issuer.crl = { url, extension: decoded(new CRLDistributionPointsExtension([url])) };
  return issuer.crl.extension;
}

/** The contents of an INTEGER: with a byte more where the first bit would make it negative. */
function serialNumberOf(serial: string): ArrayBuffer {
  const bytes = Buffer.from(serial, "hex");
  return new Uint8Array((bytes[0] ?? 0) & 0x80 ? [0, ...bytes] : bytes).buffer;
}

/** The key identifier of a SubjectPublicKeyInfo (RFC 5280 §4.2.1.2, method 1), hexadecimal. */
function keyIdOf(publicKey: Buffer): string {
  const fields = new DerReader(new DerReader(publicKey).next(TAGS.sequence).contents);
  fields.next(TAGS.sequence);
  // The first byte counts unused bits.
  return hash("sha1", fields.next(TAGS.bitString).contents.subarray(1), "hex");
}
