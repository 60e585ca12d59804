import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** One mailbox address (decisions 1.12). */
export interface Email {
  /** For display and mail: the local part as given, the domain in lower case and IDNA encoded. */
  address: string;
  /** For comparison: the address in lower case. */
  key: string;
  /** The domain, in lower case and IDNA encoded. */
  domain: string;
}

const MAX_LENGTH = 254;
const localForm = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
// Excludes what ends or encodes a URL's host: domainToASCII reads "a.com/x" as "a.com".
const givenDomain = /^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61-]+$/u;
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const domainForm = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);

/** The key of an address that was parsed before, such as a stored one. */
export const emailKeyOf = (address: string): string => address.toLowerCase();

/**
 * Parses one trimmed mailbox address of at most 254 octets: a dot-atom of ASCII (RFC 5321), `@`, a host name. Other
 * letters are refused, because some look or fold alike and would reach another account. Lists, quotes, comments, angle
 * brackets, line breaks and address literals are refused too.
 * @returns undefined when the text is not such an address.
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
  return address.length > MAX_LENGTH ? undefined : { address, key: emailKeyOf(address), domain };
}
