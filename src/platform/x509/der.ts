/** Universal tags, and the forms of tag numbers (X.690 §8.1.2). */
export const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const;

/** Tag of a context-specific element. */
export const contextTag = (number: number, constructed: boolean): number => 0x80 | (constructed ? 0x20 : 0) | number;

/** The bytes are not the DER that was expected. */
export class DerError extends Error {}

/** One element: its tag, its contents, and the bytes of both with the length. */
export interface Element {
  readonly tag: number;
  readonly contents: Buffer;
  readonly whole: Buffer;
}

/**
 * Reads the elements of DER one after another (X.690). Nothing is copied. Lengths must be minimal and within the bytes;
 * every deviation throws, so that no other reader sees other contents in the same bytes.
 */
export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** The next tag; undefined at the end. */
  get tag(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** @throws {DerError} unless the next element is complete and has the tag, where one is given */
  next(tag?: number): Element {
    const start = this.#at;
    const found = this.#byte();
    if ((found & 0x1f) === 0x1f) throw new DerError("tag numbers above 30 are not used in certificates");
    const length = this.#length();
    const from = this.#at;
    if (length > this.#bytes.length - from) throw new DerError("an element is longer than what contains it");
    if (tag !== undefined && found !== tag) throw new DerError(`found tag ${found} in place of ${tag}`);
    this.#at = from + length;
    return { tag: found, contents: this.#bytes.subarray(from, this.#at), whole: this.#bytes.subarray(start, this.#at) };
  }

  /** The contents of the next element when it has the tag; undefined otherwise. */
  optional(tag: number): Buffer | undefined {
    return this.tag === tag ? this.next(tag).contents : undefined;
  }

  /** @throws {DerError} when elements are left */
  end(): void {
    if (!this.isAtEnd) throw new DerError("unexpected bytes at the end");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new DerError("the bytes end within an element");
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const size = first & 0x7f;
    if (size === 0 || size > 4) throw new DerError("indefinite and huge lengths are not accepted");
    let length = 0;
    for (let n = 0; n < size; n++) length = length * 256 + this.#byte();
    if (length < 0x80 || length < 256 ** (size - 1)) throw new DerError("a length is not minimal");
    return length;
  }
}

/** The dotted form of an object identifier. @throws {DerError} when it is malformed */
export function readObjectIdentifier(contents: Buffer): string {
  if (contents.length === 0 || contents.length > 32)
    throw new DerError("an object identifier has no or too many bytes");
  const arcs: number[] = [];
  let arc = 0;
  let begun = false;
  for (const byte of contents) {
    if (!begun && byte === 0x80) throw new DerError("an object identifier is not minimal");
    arc = arc * 128 + (byte & 0x7f);
    begun = byte >= 0x80;
    if (begun) continue;
    arcs.push(arc);
    arc = 0;
  }
  if (begun) throw new DerError("an object identifier is cut off");
  const [first = 0, ...rest] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join(".");
}

/** A boolean as DER has it: 0 or 255. @throws {DerError} for anything else */
export function readBoolean(contents: Buffer): boolean {
  if (contents.length !== 1 || (contents[0] !== 0 && contents[0] !== 0xff))
    throw new DerError("a boolean is malformed");
  return contents[0] === 0xff;
}

const TIMES = {
  [TAGS.utcTime]: /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/u,
  [TAGS.generalizedTime]: /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/u,
} as const;

/** Epoch milliseconds of a time in a certificate (RFC 5280 §4.1.2.5). @throws {DerError} when it is malformed */
export function readTime({ tag, contents }: Element): number {
  const form = tag === TAGS.utcTime || tag === TAGS.generalizedTime ? TIMES[tag] : undefined;
  const found = form?.exec(contents.toString("latin1"));
  if (found === null || found === undefined) throw new DerError("a time is malformed");
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1).map(Number);
  // Two digits: 1950 to 2049.
  const full = tag === TAGS.utcTime ? year + (year < 50 ? 2000 : 1900) : year;
  const at = new Date(0);
  at.setUTCFullYear(full, month - 1, day);
  at.setUTCHours(hour, minute, second);
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!isReal) throw new DerError("a time does not exist");
  return at.getTime();
}
