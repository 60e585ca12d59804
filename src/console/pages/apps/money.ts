/** Minor units of the currencies of ISO 4217 that have not 2 of them; those of browsers are of CLDR, which differ. */
const DIGITS: Readonly<Record<string, number>> = {
  ...withDigits(0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
  // Metals, units of account and codes without a currency.
  ...withDigits(0, "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"),
  ...withDigits(3, "BHD IQD JOD KWD LYD OMR TND"),
  ...withDigits(4, "CLF UYW"),
};

function withDigits(digits: number, codes: string): Record<string, number> {
  return Object.fromEntries(codes.split(" ").map((code) => [code, digits]));
}

/** How many of the digits of a currency are minor units (ISO 4217). */
const digitsOf = (currency: string): number => DIGITS[currency.toUpperCase()] ?? 2;

/** An amount in minor units, with the digits of its currency: `$12.50`. */
export function money(minor: number, currency: string): string {
  const digits = digitsOf(currency);
  const code = currency === "" ? "USD" : currency.toUpperCase();
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat("en", { style: "currency", currency: code, ...fixed }).format(minor / 10 ** digits);
}

/** An amount in minor units for a file that has the currency in another column: `12.50`. */
export function decimal(minor: number, currency: string): string {
  const digits = digitsOf(currency);
  return (minor / 10 ** digits).toFixed(digits);
}

/** For what a price pays: `a month`, `a year`, `once`. */
export const per = (interval: string): string => (interval === "once" ? "once" : `a ${interval}`);
