import { hash } from "node:crypto";
import type { Authority } from "./authority.ts";
import { DerReader, TAGS } from "./der.ts";
import { integer, SEQUENCE, time, tlv } from "./der-writer.ts";
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

/** `[0] EXPLICIT`, version 3. */
const VERSION_3 = tlv(0xa0, integer("02"));
/** `[3] EXPLICIT`. */
const EXTENSIONS = 0xa3;
const NOT_AN_AUTHORITY = encoded(new BasicConstraintsExtension(false, undefined, true));
const SIGNS = encoded(new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true));
const USAGES = { client: ExtendedKeyUsage.clientAuth, server: ExtendedKeyUsage.serverAuth } as const;
/** Extensions that leaves share: making one takes the library 0.1 ms. */
const usageExtensions = new Map<string, Buffer>();
const crlExtensions = new WeakMap<Authority, { url: string; extension: Buffer }>();

/**
 * Issues an end-entity certificate (RFC 5280 §4.1); DER. Its names and extensions are the library's. The library's
 * generator decodes and encodes each of them, and the certificate, once more, which takes several times as long.
 */
export function issueLeaf(authority: Authority, request: LeafRequest): Promise<Buffer> {
  const { serial, subject, names, notBefore, notAfter, usages, publicKey, crlUrl } = request;
  const toSign = tlv(
    SEQUENCE,
    VERSION_3,
    integer(serial),
    ALGORITHM_IDENTIFIERS[authority.algorithm],
    Buffer.from(authority.name.toArrayBuffer()),
    tlv(SEQUENCE, time(notBefore), time(notAfter)),
    Buffer.from((subject instanceof Name ? subject : new Name(subject)).toArrayBuffer()),
    publicKey,
    tlv(
      EXTENSIONS,
      tlv(
        SEQUENCE,
        NOT_AN_AUTHORITY,
        SIGNS,
        extendedKeyUsage(usages),
        ...(names.length === 0 ? [] : [encoded(new SubjectAlternativeNameExtension(names))]),
        encoded(new SubjectKeyIdentifierExtension(keyIdOf(publicKey))),
        encoded(authority.keyIdentifier),
        crlDistributionPoint(authority, crlUrl),
      ),
    ),
  );
  return signed(authority, toSign);
}

function encoded({ rawData }: Extension): Buffer {
  return Buffer.from(rawData);
}

function extendedKeyUsage(usages: LeafRequest["usages"]): Buffer {
  const key = usages.join();
  let extension = usageExtensions.get(key);
  if (extension === undefined) {
    extension = encoded(new ExtendedKeyUsageExtension(usages.map((usage) => USAGES[usage])));
    usageExtensions.set(key, extension);
  }
  return extension;
}

function crlDistributionPoint(authority: Authority, url: string): Buffer {
  let known = crlExtensions.get(authority);
  if (known?.url !== url) {
    known = { url, extension: encoded(new CRLDistributionPointsExtension([url])) };
    crlExtensions.set(authority, known);
  }
  return known.extension;
}

/** The key identifier of a SubjectPublicKeyInfo (RFC 5280 §4.2.1.2, method 1), hexadecimal. */
function keyIdOf(publicKey: Buffer): string {
  const fields = new DerReader(new DerReader(publicKey).next(TAGS.sequence).contents);
  fields.next(TAGS.sequence);
  // The first byte counts unused bits.
  return hash("sha1", fields.next(TAGS.bitString).contents.subarray(1), "hex");
}
