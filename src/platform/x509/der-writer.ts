/** Minimal DER (X.690 §8) for structures of which there may be too many for an object each. */

/** A value with its tag and length. */
export function tlv(tag: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([header(tag, length), ...parts]);
}

/** Tag and length of a value. */
export function header(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.of(tag, 0x80 | bytes.length, ...bytes);
}

export const SEQUENCE = 0x30;
export const BIT_STRING = 0x03;
const INTEGER = 0x02;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

/** A non-negative integer from lower-case hexadecimal of whole bytes. */
export function integer(hex: string): Buffer {
  const bytes = Buffer.from(hex, "hex");
  let first = 0;
  while (first < bytes.length - 1 && bytes[first] === 0) first++;
  const value = bytes.subarray(first);
  return (value[0] ?? 0) & 0x80 ? tlv(INTEGER, Buffer.of(0), value) : tlv(INTEGER, value);
}

/** A time to the second: UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
export function time(at: Date): Buffer {
  const text = at.toISOString().replace(/\.\d+/u, "").replaceAll(/[-:T]/gu, "");
  return at.getUTCFullYear() < 2050
    ? tlv(UTC_TIME, Buffer.from(text.slice(2), "ascii"))
    : tlv(GENERALIZED_TIME, Buffer.from(text, "ascii"));
}
