import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Reader } from "mmdb-lib";
import type { Response } from "mmdb-lib";
import { canonicalAddress } from "../../../platform/outgoing/address.ts";

/** A record of the table, whose members are not those of MaxMind's. */
type CountryRecord = Response & { country_code?: string };

const FILE = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";

/** Looks up countries in the embedded table (CC0), which is read when it is first needed: 8 MB. */
export function createCountryLookup() {
  let reader: Reader<CountryRecord> | undefined;

  /**
   * ISO 3166-1 alpha-2 code of the country of an IPv4 address, which may be IPv4-mapped, or an IPv6 address; undefined
   * where none is known.
   */
  return function countryOf(text: string): string | undefined {
    const address = canonicalAddress(text);
    if (address === undefined) return undefined;
    reader ??= new Reader<CountryRecord>(readFileSync(createRequire(import.meta.url).resolve(FILE)));
    const country = reader.get(address)?.country_code;
    return country !== undefined && /^[A-Z]{2}$/u.test(country) ? country : undefined;
  };
}

/** Country of an address. */
export type CountryLookup = ReturnType<typeof createCountryLookup>;
