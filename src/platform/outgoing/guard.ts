import ipaddr from "ipaddr.js";
import type { FieldViolation } from "../errors.ts";

/** A host, by name or address, and a port. */
export interface HostPort {
  host: string;
  port: number;
}

export interface GuardOptions {
  /** Exceptions by the operator (`SERVICE_OUTGOING_ALLOW`): host as in the URL, for all addresses it resolves to. */
  allow?: readonly HostPort[];
  /** Development profile: 127.0.0.0/8 and ::1 may be called. */
  allowLoopback?: boolean;
}

/** Decides to which addresses the URL of a tenant may lead. */
export interface OutgoingGuard {
  /**
   * Checks the text of a URL: scheme, credentials, literal addresses. Names are checked when a connection is made.
   * `field` is the name of the member in the violation.
   */
  vetUrl(url: string, field?: string): FieldViolation | undefined;
  /** Whether a connection to `address` is allowed for a URL with this host and port. */
  allowsAddress(host: string, port: number, address: string): boolean;
  /** Whether the operator named this host and port. */
  isException(host: string, port: number): boolean;
}

const MAX_URL_LENGTH = 2_048;

/** Refused in addition to the special ranges of ipaddr.js (IANA special-purpose address registries). */
const REFUSED_V4 = [
  "0.0.0.0/8",
  "192.0.0.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "240.0.0.0/4",
].map((range) => ipaddr.IPv4.parseCIDR(range));
const REFUSED_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);
/** The only IPv6 block with allocated global unicast addresses. */
const globalV6 = ipaddr.IPv6.parseCIDR("2000::/3");
const loopbackV4 = ipaddr.IPv4.parseCIDR("127.0.0.0/8");

/** Whether an address, in its usual text form, belongs to a host of the public internet. */
export function isGlobalAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  if (address instanceof ipaddr.IPv6)
    return address.match(globalV6) && !REFUSED_V6.some((range) => address.match(range));
  return !REFUSED_V4.some((range) => address.match(range));
}

/** Whether an address is exactly in 127.0.0.0/8 or ::1; mapped forms are not. */
export function isLoopbackAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  return address instanceof ipaddr.IPv4
    ? address.match(loopbackV4)
    : address.toNormalizedString() === "0:0:0:0:0:0:0:1";
}

/** Returns a URL's host without brackets and trailing dot, as it is resolved and compared. */
export function bareHost(hostname: string): string {
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname.replace(/\.$/, "");
  return host.toLowerCase();
}

/** Returns the port of a URL. */
function portOf(url: URL): number {
  return url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
}

/**
 * Creates the guard. The host of an exception is a name, an IPv4 address, or an IPv6 address with or without brackets.
 */
export function createGuard({ allow = [], allowLoopback = false }: GuardOptions): OutgoingGuard {
  const exceptions = new Set(allow.map(({ host, port }) => key(canonicalHost(host), port)));
  const isException = (host: string, port: number): boolean => exceptions.has(key(bareHost(host), port));
  const allowsAddress = (host: string, port: number, address: string): boolean =>
    isGlobalAddress(address) || (allowLoopback && isLoopbackAddress(address)) || isException(host, port);

  return {
    isException,
    allowsAddress,
    vetUrl(given, field = "url") {
      const refused = (code: string, message: string): FieldViolation => ({ field, code, message });
      if (given.length > MAX_URL_LENGTH) return refused("too_long", `must have at most ${MAX_URL_LENGTH} characters`);
      if (/[\s\\\p{Cc}]/u.test(given)) return refused("url", "must have no spaces, control characters or backslashes");
      const url = URL.parse(given);
      if (url === null) return refused("url", "must be an absolute URL");
      if (!/^https?:\/\/[^/]/i.test(given)) return refused("url_scheme", "must start with http:// or https://");
      if (/^https?:\/\/[^/?#]*@/i.test(given))
        return refused("url_credentials", "must not carry a user name or password");
      if (url.port === "0") return refused("url", "must name a port that exists");
      const host = bareHost(url.hostname);
      if (ipaddr.isValid(host) && !allowsAddress(host, portOf(url), host))
        return refused("url_address", "must lead to a public address");
      return undefined;
    },
  };
}

function key(host: string, port: number): string {
  return `${host} ${port}`;
}

/** Returns a host as the URL parser writes it. */
function canonicalHost(host: string): string {
  const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return bareHost(URL.parse(`http://${bracketed}/`)?.hostname ?? host);
}
