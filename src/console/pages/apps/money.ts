/** An amount in minor units, with the digits of its currency (ISO 4217): `$12.50`. */
export function money(minor: number, currency: string): string {
  const code = currency === "" ? "USD" : currency.toUpperCase();
  const format = new Intl.NumberFormat("en", { style: "currency", currency: code });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

/** For what a price pays: `a month`, `a year`, `once`. */
export const per = (interval: string): string => (interval === "once" ? "once" : `a ${interval}`);
