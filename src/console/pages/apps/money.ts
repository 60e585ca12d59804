/** The format of a currency (ISO 4217), and how many of its digits are minor units. */
function formatOf(currency: string): { format: Intl.NumberFormat; digits: number } {
  const code = currency === "" ? "USD" : currency.toUpperCase();
  const format = new Intl.NumberFormat("en", { style: "currency", currency: code });
  return { format, digits: format.resolvedOptions().maximumFractionDigits ?? 2 };
}

/** An amount in minor units, with the digits of its currency: `$12.50`. */
export function money(minor: number, currency: string): string {
  const { format, digits } = formatOf(currency);
  return format.format(minor / 10 ** digits);
}

/** An amount in minor units for a file that has the currency in another column: `12.50`. */
export function decimal(minor: number, currency: string): string {
  const { digits } = formatOf(currency);
  return (minor / 10 ** digits).toFixed(digits);
}

/** For what a price pays: `a month`, `a year`, `once`. */
export const per = (interval: string): string => (interval === "once" ? "once" : `a ${interval}`);
