import type { Random } from "../random.ts";

/** Length of serial numbers, bytes: 128 random bits, within the 20 octets of RFC 5280 §4.1.2.2. */
const LENGTH = 16;

/**
 * A random serial number in lower-case hexadecimal. Its first byte is not zero: tools print serial numbers without
 * leading zeros, and the text must be the same everywhere.
 */
export function newSerial(random: Pick<Random, "bytes">): string {
  for (;;) {
    const serial = random.bytes(LENGTH);
    if (serial[0] !== 0) return serial.toString("hex");
  }
}
