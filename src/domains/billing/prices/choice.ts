/** A price in a region and currency. */
export interface PriceInRegion {
  /** ISO 3166-1 alpha-2, or `default`. */
  region: string;
  /** ISO 4217, lower case. */
  currency: string;
  unitAmountCents: number;
  /** A decimal; null for no tax. */
  taxPercent: string | null;
}

/**
 * The row of a price for a region and a currency (decisions 10.3): the region's, in the currency where one is named,
 * else the default row, else any row in the currency; undefined when there is none.
 * @param rows the default row first
 */
export function choosePrice(
  rows: readonly PriceInRegion[],
  region: string | undefined,
  currency: string | undefined,
): PriceInRegion | undefined {
  const inCurrency = (row: PriceInRegion): boolean => currency === undefined || row.currency === currency;
  const [standard] = rows;
  return (
    rows.find((row) => row.region === region && inCurrency(row)) ??
    (standard !== undefined && inCurrency(standard) ? standard : rows.find(inCurrency))
  );
}
