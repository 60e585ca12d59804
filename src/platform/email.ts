import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** One mailbox address (decisions 1.12). */
export interface Email {
  /** As shown and mailed to: the local part as given, the domain lower case and IDNA encoded. */
  address: string;
  /** As compared: the local part without case. */
  key: string;
  /** The domain, lower case and IDNA encoded. */
  domain: string;
}

const longest = 254;
const localForm = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
// Nothing that a URL's host would be cut at or decoded from: domainToASCII reads "a.com/x" as "a.com".
const givenDomain = /^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61-]+$/u;
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const domainForm = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);

/**
 * Reads an address, spaces around it removed; undefined for anything but one mailbox of at most 254 octets:
 * a dot-atom of ASCII (RFC 5321; letters that merely look or fold alike must not reach somebody else's account),
 * `@`, a host name. No lists, quotes, comments, angle brackets, line breaks or address literals.
 */
export function parseEmail(text: string): Email | undefined {
  if (text.length > 1_024) return undefined;
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf("@");
  const local = trimmed.slice(0, Math.max(at, 0));
  const given = trimmed.slice(at + 1);
  if (local.length > 64 || !localForm.test(local) || !givenDomain.test(given)) return undefined;
  const domain = domainToASCII(given);
  if (!domainForm.test(domain) || isIP(domain) !== 0) return undefined;
  const address = `${local}@${domain}`;
  return address.length > longest ? undefined : { address, key: address.toLowerCase(), domain };
}
