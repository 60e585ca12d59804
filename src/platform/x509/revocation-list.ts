import { setImmediate as nextTurn } from "node:timers/promises";
import type { Authority } from "./authority.ts";
import { DerReader, TAGS } from "./der.ts";
import { header, integer, SEQUENCE, time, tlv } from "./der-writer.ts";
import { ALGORITHM_IDENTIFIERS, signed } from "./signed.ts";

/** A revoked certificate. */
export interface RevokedCertificate {
  /** Lower-case hexadecimal. */
  serial: string;
  revokedAt: Date;
  /** Default: unspecified. */
  reason?: "cessationOfOperation" | undefined;
}

/** A revocation list to sign. */
export interface RevocationListRequest {
  /** Rises with every list of the authority. */
  number: number;
  thisUpdate: Date;
  nextUpdate: Date;
  entries: readonly RevokedCertificate[];
  /** Entries that are encoded already, before the others: those of an earlier list ({@link encodedEntriesOf}). */
  encodedEntries?: Buffer | undefined;
}

/** Entries that are encoded in one turn of the event loop, about 5 ms. */
const CHUNK = 2_000;

const VERSION_2 = integer("01");
const OID_CRL_NUMBER = Buffer.from("0603551d14", "hex");
const OCTET_STRING = 0x04;
/** `[0] EXPLICIT`. */
const EXTENSIONS = 0xa0;
/** `crlEntryExtensions` with a reason code (RFC 5280 §5.3.1), by reason. */
const REASONS = { cessationOfOperation: Buffer.from("300c300a0603551d1504030a0105", "hex") } as const;

/**
 * Signs a revocation list (RFC 5280 §5); DER. The library's generator compares every entry with all before it; this one
 * takes 100,000 entries, and other work runs in between.
 */
export async function signRevocationList(authority: Authority, request: RevocationListRequest): Promise<Buffer> {
  const { number, thisUpdate, nextUpdate, entries, encodedEntries } = request;
  const crlNumber = tlv(SEQUENCE, OID_CRL_NUMBER, tlv(OCTET_STRING, integer(evenHex(number))));
  const toSign = tlv(
    SEQUENCE,
    VERSION_2,
    ALGORITHM_IDENTIFIERS[authority.algorithm],
    Buffer.from(authority.name.toArrayBuffer()),
    time(thisUpdate),
    time(nextUpdate),
    ...revokedCertificates(encodedEntries === undefined ? [] : [encodedEntries], await encodeEntries(entries)),
    tlv(EXTENSIONS, tlv(SEQUENCE, Buffer.from(authority.keyIdentifier.rawData), crlNumber)),
  );
  return signed(authority, toSign);
}

/** The entries of a list that {@link signRevocationList} made, as they are encoded in it. */
export function encodedEntriesOf(list: Buffer): Buffer {
  const fields = new DerReader(
    new DerReader(new DerReader(list).next(TAGS.sequence).contents).next(TAGS.sequence).contents,
  );
  // Version, algorithm, issuer and the two times.
  for (let n = 0; n < 5; n++) fields.next();
  return fields.optional(TAGS.sequence) ?? Buffer.alloc(0);
}

/** `revokedCertificates` with its header; nothing when there are none, as RFC 5280 §5.1.2.6 demands. */
function revokedCertificates(...parts: readonly (readonly Buffer[])[]): Buffer[] {
  const chunks = parts.flat();
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return length === 0 ? [] : [header(SEQUENCE, length), ...chunks];
}

async function encodeEntries(entries: readonly RevokedCertificate[]): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for (let from = 0; from < entries.length; from += CHUNK) {
    if (from > 0) await nextTurn();
    chunks.push(Buffer.concat(entries.slice(from, from + CHUNK).map(encodeEntry)));
  }
  return chunks;
}

function encodeEntry({ serial, revokedAt, reason }: RevokedCertificate): Buffer {
  const extensions = reason === undefined ? [] : [REASONS[reason]];
  return tlv(SEQUENCE, integer(serial), time(revokedAt), ...extensions);
}

function evenHex(value: number): string {
  const hex = value.toString(16);
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}
