import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { Name } from "./library.ts";

/**
 * A distinguished name of a common name alone. Typed as UTF8String: from plain text, the library reads a leading `#` as
 * encoded DER and quotes as an escape.
 */
export function commonNameOnly(commonName: string): Name {
  return new Name([{ CN: [{ utf8String: commonName }] }]);
}

/**
 * An IP address as a subject alternative name. IPv6 addresses are written out: the library reads the part after the
 * last colon as hexadecimal digits, which makes another address of `::ffff:192.0.2.1`.
 */
export function ipName(address: string): { type: "ip"; value: string } {
  if (isIP(address) !== 6) return { type: "ip", value: address };
  // Through the URL parser first: ipaddr.js mistakes ::192.0.2.1 for a mapped address.
  const { hostname } = new URL(`http://[${address}]/`);
  return { type: "ip", value: ipaddr.IPv6.parse(hostname.slice(1, -1)).toNormalizedString() };
}
