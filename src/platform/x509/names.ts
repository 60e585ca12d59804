import { Name } from "./library.ts";

/**
 * A distinguished name of a common name alone. Typed as UTF8String: from plain text, the library reads a leading `#` as
 * encoded DER and quotes as an escape.
 */
export function commonNameOnly(commonName: string): Name {
  return new Name([{ CN: [{ utf8String: commonName }] }]);
}
