import { contextTag, DerError, DerReader, readBoolean, readObjectIdentifier, readTime, TAGS } from "./der.ts";

/** What decides about a certificate that a client presents (RFC 5280 §4). */
export interface EndEntity {
  /** Lower-case hexadecimal, two digits for each byte, without leading zero bytes. */
  readonly serial: string;
  /** DER. */
  readonly issuer: Buffer;
  /** Key identifier of the issuer; undefined when the certificate does not name one. */
  readonly issuerKeyId: Buffer | undefined;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Whether it may sign certificates or revocation lists. */
  readonly isAuthority: boolean;
  /** Whether its key may sign a handshake. */
  readonly signs: boolean;
  /** Whether it is meant for clients of TLS. */
  readonly authenticatesClients: boolean;
  /** URIs among its subject alternative names. */
  readonly uris: readonly string[];
  /** Critical extensions that this program does not know. */
  readonly unknownCritical: readonly string[];
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const OIDS = {
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

const VERSION_3 = 2;
/** Bits of a key usage, in its first byte (RFC 5280 §4.2.1.3). */
const DIGITAL_SIGNATURE = 0x80;
const CERT_OR_CRL_SIGN = 0x04 | 0x02;

/**
 * Reads a certificate. Signatures are checked elsewhere: nothing here is true before that.
 * @throws {DerError} when it is not a certificate of version 3, or an extension is malformed or occurs twice
 */
export function readEndEntity(der: Buffer): EndEntity {
  const outer = new DerReader(der);
  const certificate = new DerReader(outer.next(TAGS.sequence).contents);
  outer.end();
  const fields = new DerReader(certificate.next(TAGS.sequence).contents);
  const version = fields.optional(contextTag(0, true));
  if (version === undefined || integer(new DerReader(version).next(TAGS.integer).contents) !== VERSION_3)
    throw new DerError("the certificate has no version 3");
  const serial = readSerial(fields.next(TAGS.integer).contents);
  fields.next(TAGS.sequence); // algorithm of the signature
  const issuer = fields.next(TAGS.sequence).whole;
  const validity = new DerReader(fields.next(TAGS.sequence).contents);
  const notBeforeMs = readTime(validity.next());
  const notAfterMs = readTime(validity.next());
  fields.next(TAGS.sequence); // subject, which makes no identity
  fields.next(TAGS.sequence); // public key
  fields.optional(contextTag(1, false));
  fields.optional(contextTag(2, false));
  const found: Writable<EndEntity> = {
    serial,
    issuer,
    issuerKeyId: undefined,
    notBeforeMs,
    notAfterMs,
    isAuthority: false,
    signs: true,
    authenticatesClients: true,
    uris: [],
    unknownCritical: [],
  };
  const extensions = fields.optional(contextTag(3, true));
  fields.end();
  if (extensions !== undefined) readExtensions(extensions, found);
  return found;
}

function readExtensions(contents: Buffer, into: Writable<EndEntity>): void {
  const list = new DerReader(new DerReader(contents).next(TAGS.sequence).contents);
  const seen = new Set<string>();
  const unknownCritical: string[] = [];
  while (!list.isAtEnd) {
    const extension = new DerReader(list.next(TAGS.sequence).contents);
    const oid = readObjectIdentifier(extension.next(TAGS.objectIdentifier).contents);
    const criticality = extension.optional(TAGS.boolean);
    const isCritical = criticality !== undefined && readBoolean(criticality);
    const value = extension.next(TAGS.octetString).contents;
    extension.end();
    if (seen.has(oid)) throw new DerError("an extension occurs twice");
    seen.add(oid);
    const read = READERS[oid];
    if (read !== undefined) read(new DerReader(value), into);
    else if (isCritical) unknownCritical.push(oid);
  }
  into.unknownCritical = unknownCritical;
}

/** Readers of the extensions that matter, by their identifiers. */
const READERS: Readonly<Record<string, (value: DerReader, into: Writable<EndEntity>) => void>> = {
  [OIDS.keyUsage](value, into) {
    const [unused = 0, first = 0] = value.next(TAGS.bitString).contents;
    value.end();
    if (unused > 7) throw new DerError("a key usage is malformed");
    into.signs = (first & DIGITAL_SIGNATURE) !== 0;
    if ((first & CERT_OR_CRL_SIGN) !== 0) into.isAuthority = true;
  },
  [OIDS.basicConstraints](value, into) {
    const authority = new DerReader(value.next(TAGS.sequence).contents).optional(TAGS.boolean);
    value.end();
    if (authority !== undefined && readBoolean(authority)) into.isAuthority = true;
  },
  [OIDS.extendedKeyUsage](value, into) {
    const purposes = new DerReader(value.next(TAGS.sequence).contents);
    value.end();
    into.authenticatesClients = false;
    while (!purposes.isAtEnd) {
      const purpose = readObjectIdentifier(purposes.next(TAGS.objectIdentifier).contents);
      if (purpose === OIDS.clientAuth) into.authenticatesClients = true;
    }
  },
  [OIDS.subjectAltName](value, into) {
    const names = new DerReader(value.next(TAGS.sequence).contents);
    value.end();
    const uris: string[] = [];
    while (!names.isAtEnd) {
      const { tag, contents } = names.next();
      if (tag !== contextTag(6, false)) continue;
      if (contents.some((byte) => byte <= 0x20 || byte >= 0x7f)) throw new DerError("a URI is not visible ASCII");
      uris.push(contents.toString("latin1"));
    }
    into.uris = uris;
  },
  [OIDS.authorityKeyIdentifier](value, into) {
    into.issuerKeyId = new DerReader(value.next(TAGS.sequence).contents).optional(contextTag(0, false));
    value.end();
  },
};

function readSerial(contents: Buffer): string {
  if (contents.length === 0 || contents.length > 21 || (contents[0] as number) >= 0x80)
    throw new DerError("the serial number is not a positive number of 20 bytes");
  return contents.toString("hex").replace(/^(?:00)+(?=..)/u, "");
}

function integer(contents: Buffer): number | undefined {
  return contents.length === 1 ? contents[0] : undefined;
}
