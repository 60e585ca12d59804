/** Maximum number of items that lists count exactly (decisions 1.1). */
export const MAX_EXACT = 10_000;

/** Number of items of a list as in the contract: exact up to 10,000, above that marked as an estimate. */
export interface Total {
  total: number;
  totalIsEstimate?: true;
}

/**
 * Returns SQL that counts the rows of `from …` up to the limit of exact counts plus one, so that its cost is bounded.
 * Read the result with {@link totalOf}.
 */
export function boundedCount(from: string): string {
  return `select count(*)::int as counted from (select 1 ${from} limit ${MAX_EXACT + 1}) as first_rows`;
}

/** Returns the total from the result of a {@link boundedCount}. An estimate is a lower bound. */
export function totalOf(rows: readonly { counted: number }[]): Total {
  const total = rows[0]?.counted ?? 0;
  return total > MAX_EXACT ? { total, totalIsEstimate: true } : { total };
}
