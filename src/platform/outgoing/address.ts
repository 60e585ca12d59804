import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Address ranges whose `X-Forwarded-For` is trusted. */
export type TrustedProxies = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

/** Parses `SERVICE_TRUSTED_PROXIES`. @throws {RangeError} for an entry that is neither an address nor a CIDR range */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  return entries.map((given) => {
    const entry = given.trim();
    const [host = "", bits] = entry.split("/");
    const version = isIP(host);
    const widest = version === 4 ? 32 : 128;
    if (
      version === 0 ||
      (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > widest)) ||
      entry.split("/").length > 2
    ) {
      throw new RangeError(`"${given}" is neither an address nor a CIDR range`);
    }
    return [ipaddr.parse(host), bits === undefined ? widest : Number(bits)];
  });
}

/**
 * Returns the client's address (decisions 3.11): that of the socket, unless it is a trusted proxy. Then it is the last
 * entry of `X-Forwarded-For` that is not a trusted proxy, or the first entry if all are. For an entry that is not an
 * address, it is the proxy that reported it. IPv4-mapped addresses are returned as IPv4, IPv6 in its short form.
 */
export function clientAddress(
  socketAddress: string,
  xForwardedFor: string | undefined,
  trustedProxies: TrustedProxies,
): string {
  let address = canonicalAddress(socketAddress) ?? socketAddress;
  if (xForwardedFor === undefined || trustedProxies.length === 0) return address;
  const entries = xForwardedFor.split(",");
  while (isTrusted(address, trustedProxies)) {
    const entry = canonicalAddress(entries.pop()?.trim() ?? "");
    if (entry === undefined) break;
    address = entry;
  }
  return address;
}

/** Whether a socket's address is a trusted proxy's. */
export function isTrustedProxy(address: string, trustedProxies: TrustedProxies): boolean {
  return isTrusted(canonicalAddress(address) ?? address, trustedProxies);
}

/** What a `limitKey` of an IPv6 network ends with. */
const NETWORK = "::/64";

/** Returns the subject of limits for an address: the whole IPv4 address, or the /64 of an IPv6 address. */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const parts = ipaddr.IPv6.parse(withoutZone(address)).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(":")}${NETWORK}`;
}

/**
 * Returns the first and the last text, in the order of bytes, between which lie the canonical forms of all addresses
 * with a `limitKey`. A zero in an IPv6 network ends what their forms have in common: it may be left out.
 */
export function limitKeyRange(key: string): [first: string, last: string] {
  if (!key.endsWith(NETWORK)) return [key, key];
  const parts = key.slice(0, -NETWORK.length).split(":");
  const zero = parts.indexOf("0");
  const common = (zero === -1 ? parts : parts.slice(0, zero)).map((part) => `${part}:`).join("");
  return [common, `${common}~`];
}

/** Returns the canonical form; undefined for invalid addresses, which include `127.1`, ports and brackets. */
export function canonicalAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 4) return text;
  if (version === 0) return undefined;
  // Through the URL parser first: ipaddr.js mistakes ::127.0.0.1 for a mapped address.
  const address = ipaddr.IPv6.parse(URL.parse(`http://[${withoutZone(text)}]/`)?.hostname.slice(1, -1) ?? text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, "");
}

function isTrusted(address: string, proxies: TrustedProxies): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return proxies.some(([range, bits]) => {
    if (parsed instanceof ipaddr.IPv4) return range instanceof ipaddr.IPv4 && parsed.match(range, bits);
    return range instanceof ipaddr.IPv6 && parsed.match(range, bits);
  });
}
